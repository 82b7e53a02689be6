/** What rules let one do. The hub decides; this only keeps the console from offering what it would refuse. */

export type Verb = "publish" | "subscribe" | "read" | "group" | "ops";

/** What `ops` is about. */
export const ACTIONS = [
  "overview",
  "stats",
  "metrics",
  "tasks",
  "jobs",
  "hubs",
  "audit",
  "cursor",
  "pause",
  "resume",
  "redrive",
  "discard",
  "replay",
  "import",
  "rebuild",
  "schema",
  "remove",
  "outbox",
  "backup",
];

export interface Rule {
  readonly effect: "allow" | "deny";
  readonly verbs: readonly (Verb | "*")[];
  readonly resources: readonly string[];
}

export function allows(rules: readonly Rule[], verb: Verb, resource: string): boolean {
  const name = verb === "ops" || verb === "group" ? resource : base(resource);
  const fitting = rules.filter(
    (rule) => rule.verbs.some((given) => covers(given, verb)) && rule.resources.some((p) => fits(p, name)),
  );
  const isOpen = verb === "group" && !rules.some(namesGroups);
  return (isOpen || fitting.length > 0) && fitting.every(({ effect }) => effect === "allow");
}

/** Who is granted groups by name may act for those alone, anybody else for all that no rule denies. */
function namesGroups({ effect, verbs }: Rule): boolean {
  return effect === "allow" && verbs.includes("group");
}

function covers(given: Verb | "*", wanted: Verb): boolean {
  if (given === "*") return wanted !== "group";
  return given === wanted || (given === "subscribe" && wanted === "read");
}

/** How many of all topics may be read: an empty list means something else to each. */
export function readingReach(rules: readonly Rule[]): "all" | "some" | "none" {
  const reading = rules.filter(({ verbs }) => verbs.some((given) => covers(given, "read")));
  const allowed = reading.filter(({ effect }) => effect === "allow").flatMap(({ resources }) => resources);
  const denied = reading.filter(({ effect }) => effect === "deny").flatMap(({ resources }) => resources);
  if (allowed.length === 0 || denied.some(isAny)) return "none";
  return denied.length === 0 && allowed.some(isAny) ? "all" : "some";
}

/** Dead letters and snapshots are as open as their topic. */
function base(topic: string): string {
  return topic.replace(/^(dlq\.)+/, "").replace(/\.snapshot$/, "");
}

/** A lone star reads as "any". */
function isAny(pattern: string): boolean {
  return pattern === "*" || pattern === "**";
}

/** `*` is one segment, `**` any number. */
function fits(pattern: string, name: string): boolean {
  if (isAny(pattern)) return true;
  const source = pattern
    .split(".")
    .map((part) => (part === "**" ? "**" : part === "*" ? "[^.]+" : part.replaceAll(/[^\w-]/g, "\\$&")))
    .join("\\.");
  const regex = source
    .replaceAll("\\.**\\.", "\\.(?:.+\\.)?")
    .replace(/^\*\*\\\./, "(?:.+\\.)?")
    .replace(/\\\.\*\*$/, "(?:\\..+)?");
  return new RegExp(`^${regex}$`).test(name);
}
