/** What needs attention, the most urgent first, each as a sentence with the way to it. */
import { useRef } from "preact/hooks";
import { seg } from "../../data/api.js";
import { type Live, useLive } from "../../data/live.js";
import { may } from "../../data/session.js";
import type { GroupStats, Items, Stats, TaskReport, Why } from "../../data/shapes.js";
import { useStats } from "../../data/stats.js";
import { mayBeBehind } from "../../data/stats-past.js";
import { plural } from "../../ui/format.js";
import { to } from "../../ui/router.js";

export interface Notice {
  readonly kind: "stuck" | "failing" | "letters" | "paused";
  readonly id: string;
  readonly href: string;
  readonly text: string;
}

/** Behind for longer than this is worth a sentence. */
const BEHIND_SECONDS = 20;

/** Undefined until all of it is known: it stands above all else, and what came later would push that down. */
export function useNotices(): readonly Notice[] | undefined {
  const stats = useStats();
  const mayTasks = may("ops", "tasks");
  const tasks = useLive<Items<TaskReport>>(mayTasks ? "/tasks" : null, 5_000);
  const behind = stuckGroups(stats);
  const stuck = [useStuck(behind[0]), useStuck(behind[1]), useStuck(behind[2])].slice(0, behind.length);
  const begun = useRef(false);
  if (stats === undefined) return undefined;
  begun.current ||= stuck.every((one) => one !== undefined) && (!mayTasks || isAnswered(tasks));
  if (!begun.current) return undefined;
  return [
    ...stuck.filter((one) => one !== undefined),
    ...(tasks.data?.items ?? []).flatMap(failing),
    ...letters(stats),
    ...paused(stats.groups),
  ];
}

function isAnswered(live: Live<unknown>): boolean {
  return live.data !== undefined || live.problem !== undefined;
}

function stuckGroups(stats: Stats | undefined): GroupStats[] {
  return (stats?.groups ?? [])
    .filter((one) => one.lag > 0 && one.paused === undefined && one.lagSeconds > BEHIND_SECONDS)
    .filter((one) => !mayBeBehind(one))
    .sort((a, b) => b.lagSeconds - a.lagSeconds);
}

/** Undefined until it is known what holds the group up, or that this cannot be known. */
function useStuck(behind: GroupStats | undefined): Notice | undefined {
  const path = behind && `/groups/${seg(behind.group)}/why?topic=${seg(behind.topic)}`;
  const why = useLive<Why>(path ?? null, 3_000);
  if (behind === undefined || !isAnswered(why)) return undefined;
  const { group, topic } = behind;
  const text = why.data?.sentence ?? `${group} is behind on ${topic}.`;
  return { kind: "stuck", id: `${topic} ${group}`, href: to("groups", group, { topic }), text };
}

function failing({ name, state, lastError }: TaskReport): Notice[] {
  if (state !== "failed" && state !== "retrying") return [];
  const text = `\`${name}\` is ${state}${lastError === undefined ? "." : `: ${lastError}`}`;
  return [{ kind: "failing", id: name, href: to("operations"), text }];
}

function letters({ deadLetters: { open, topics } }: Stats): Notice[] {
  const names = Object.entries(topics)
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);
  const [most] = names;
  if (most === undefined) return [];
  const [where, href] =
    names.length === 1
      ? [most, to("dead-letters", most)]
      : [`${names.length} topics, most in ${most}`, to("dead-letters")];
  const text = `${plural(open, "dead letter")} ${open === 1 ? "waits" : "wait"} for a decision in ${where}.`;
  return [{ kind: "letters", id: "all", href, text }];
}

/** Somebody meant it so: however many there are, they do not push down what nobody meant. */
export function paused(groups: readonly GroupStats[]): Notice[] {
  const all = groups.filter((one) => one.paused !== undefined);
  if (all.length > MOST_PAUSED) {
    const text = `${plural(all.length, "group")} are paused: ${listed(all.map(({ group }) => group))}.`;
    return [{ kind: "paused", id: "all", href: to("groups", { state: "paused" }), text }];
  }
  return all.map(({ group, topic, paused: pause }) => ({
    kind: "paused",
    id: `${topic} ${group}`,
    href: to("groups", group, { topic }),
    text: `${group} is paused on ${topic} by ${pause?.by ?? "somebody"}.`,
  }));
}

const MOST_PAUSED = 2;

function listed(names: readonly string[]): string {
  const first = names.slice(0, MOST_PAUSED).join(", ");
  return names.length > MOST_PAUSED ? `${first} and ${names.length - MOST_PAUSED} more` : first;
}
