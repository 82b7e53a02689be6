/**
 * Who may do what. A scope is `verb:pattern` ("publish:heartbeat.*", "subscribe:process.**", "ops:*"); a policy is a
 * list of rules that allow or deny. Deny wins over allow, and what nothing allows is denied.
 *
 * `*` stands for one segment, `**` for any number. `dlq.x` and `x.snapshot` are as open as `x`.
 *
 * Groups stand apart: who is granted some by name ("group:billing.*") may act for those alone, anybody else for all that no rule
 * denies, unless the hub demands names. `*` as a verb speaks of topics and ops, not of groups.
 */
import { BusError } from "../../model/errors.js";
import { baseTopic, matchesTopic } from "../../model/topic.js";
import { MAX_NAME_CHARS } from "../limits.js";

/** What a rule is about; `ops` stands for all that operators do. */
export type Verb = "publish" | "subscribe" | "read" | "group" | "ops";

/** What a token may do, or may not: a denial wins, and what nothing allows is denied. */
export interface Rule {
  readonly effect: "allow" | "deny";
  readonly verbs: readonly (Verb | "*")[];
  /** Topic patterns; for `ops`, names of actions; for `group`, patterns of groups. */
  readonly resources: readonly string[];
}

export interface Grants {
  readonly scopes?: readonly string[];
  readonly rules?: readonly Rule[];
}

/** Beside the rules of a token: it is granted groups by name, if only these none. */
const NO_GROUPS: Rule = { effect: "allow", verbs: ["group"], resources: [] };

/** What a token grants at a hub that has all tokens name their groups. */
export function groupsByName(grants: Grants): Grants {
  return { ...grants, rules: [...(grants.rules ?? []), NO_GROUPS] };
}

export const VERBS: ReadonlySet<string> = new Set(["publish", "subscribe", "read", "group", "ops", "*"]);

const MAX_REMEMBERED = 1_000;

export class Acl {
  readonly #rules: readonly Rule[];
  /** Whether groups are granted by name. */
  readonly #namesGroups: boolean;
  /** Answers given before: the rules do not change, and publishers ask for the same topic again and again. */
  readonly #answers = new Map<Verb, Map<string, boolean>>();

  constructor(grants: Grants) {
    this.#rules = [...(grants.scopes ?? []).map(ruleOf), ...(grants.rules ?? []).map(checkedRule)];
    this.#namesGroups = this.#rules.some(
      ({ effect, verbs }) => effect === "allow" && verbs.includes("group"),
    );
  }

  /** Whether this may be done with this topic (or group, or ops action). */
  allows(verb: Verb, resource: string): boolean {
    return resource.length > MAX_NAME_CHARS ? this.#decide(verb, resource) : this.#remember(verb, resource);
  }

  #remember(verb: Verb, resource: string): boolean {
    let answers = this.#answers.get(verb);
    if (answers === undefined) {
      answers = new Map();
      this.#answers.set(verb, answers);
    }
    let answer = answers.get(resource);
    if (answer === undefined) {
      answer = this.#decide(verb, resource);
      if (answers.size >= MAX_REMEMBERED) answers.clear();
      answers.set(resource, answer);
    }
    return answer;
  }

  #decide(verb: Verb, resource: string): boolean {
    const name = verb === "ops" || verb === "group" ? resource : baseTopic(resource);
    let allowed = verb === "group" && !this.#namesGroups;
    for (const rule of this.#rules) {
      if (
        !rule.verbs.some((v) => covers(v, verb)) ||
        !rule.resources.some((pattern) => matchesTopic(pattern, name))
      )
        continue;
      if (rule.effect === "deny") return false;
      allowed = true;
    }
    return allowed;
  }

  /** Whether it may be done with every topic that a pattern can match, now or later. */
  allowsPattern(verb: Exclude<Verb, "group">, pattern: string): boolean {
    if (!pattern.includes("*")) return this.allows(verb, pattern);
    // As with names: `dlq.x.*` and `x.*.snapshot` are as open as `x.*`. No other pattern takes such topics in.
    const base = baseTopic(pattern);
    const ofVerb = this.#rules.filter((rule) => rule.verbs.some((v) => covers(v, verb)));
    // A denial anywhere near a pattern is taken as covering it: a pattern must never open what a rule closes.
    if (ofVerb.some((rule) => rule.effect === "deny")) return false;
    return ofVerb.some((rule) =>
      rule.resources.some((allowed) => allowed === "**" || allowed === base || isWithin(base, allowed)),
    );
  }

  get rules(): readonly Rule[] {
    return this.#rules;
  }
}

/** The right to subscribe is the right to read. */
function covers(granted: Verb | "*", wanted: Verb): boolean {
  if (granted === "*") return wanted !== "group";
  return granted === wanted || (granted === "subscribe" && wanted === "read");
}

/** `a.*` and `a.b.**` lie within `a.**`; nothing else is worked out. */
function isWithin(pattern: string, allowed: string): boolean {
  return (
    allowed.endsWith(".**") &&
    !allowed.slice(0, -3).includes("*") &&
    pattern.startsWith(`${allowed.slice(0, -3)}.`)
  );
}

/** Rules come out of tokens: what is not one must not slip through as one. */
function checkedRule(rule: Rule): Rule {
  const fits =
    (rule?.effect === "allow" || rule?.effect === "deny") &&
    Array.isArray(rule.verbs) &&
    rule.verbs.every((verb) => VERBS.has(verb)) &&
    Array.isArray(rule.resources) &&
    rule.resources.every((resource) => typeof resource === "string");
  if (!fits) throw new BusError("INVALID_OPTION", "a policy rule has effect, verbs and resources");
  if (rule.effect === "deny") for (const resource of rule.resources) checkDenial(rule.verbs, resource);
  return { ...rule, resources: rule.resources.map((resource) => (resource === "*" ? "**" : resource)) };
}

/** A denial that fits nothing would be taken for one that counts. What allows nothing does no harm. */
function checkDenial(verbs: Rule["verbs"], resource: string): void {
  const named = JSON.stringify(resource.slice(0, 80));
  if (resource.split(".").some((part) => part.includes("*") && part !== "*" && part !== "**"))
    throw new BusError(
      "INVALID_OPTION",
      `the denial of ${named} fits nothing: "*" stands for a whole segment`,
    );
  const isOfTopics = verbs.some((verb) => verb !== "group" && verb !== "ops");
  if (isOfTopics && baseTopic(resource) !== resource)
    throw new BusError(
      "INVALID_OPTION",
      `the denial of ${named} fits nothing: rights name ${JSON.stringify(baseTopic(resource).slice(0, 80))}, and count for that, too`,
    );
}

function ruleOf(scope: string): Rule {
  const at = scope.indexOf(":");
  const verb = scope.slice(0, at);
  const resource = scope.slice(at + 1);
  if (at < 0 || !VERBS.has(verb) || resource === "") {
    throw new BusError(
      "INVALID_OPTION",
      `"${scope.slice(0, 80)}" is not a scope: write "verb:pattern" with publish, subscribe, read, group, ops or *`,
    );
  }
  // Taken for one it would allow nothing.
  if (/\s/.test(resource))
    throw new BusError(
      "INVALID_OPTION",
      `"${scope.slice(0, 80)}" is several scopes in one: give each by itself`,
    );
  // `ops:*` and `*:*` mean everything of that kind: a lone star reads as "any".
  return { effect: "allow", verbs: [verb as Verb | "*"], resources: [resource === "*" ? "**" : resource] };
}
