/** How the numbers went: of the whole hub, and a short past of each topic and group for its row. Pure. */
import type { GroupStats, Sample, Stats } from "./shapes.js";

export interface Moment extends Sample {
  readonly lag: number | null;
  readonly lagSeconds: number | null;
  readonly dead: number | null;
}

export function momentOf(stats: Stats): Moment {
  const { groups, deadLetters, totals } = stats;
  return { ...totals, atMs: stats.atMs, ...lagOf(groups), dead: deadLetters.open };
}

/** Of all groups that somebody has to look after. */
export function lagOf(all: readonly GroupStats[]): { readonly lag: number; readonly lagSeconds: number } {
  const groups = all.filter((one) => one.lag > 0 && !mayBeBehind(one));
  return {
    lag: groups.reduce((sum, { lag }) => sum + lag, 0),
    lagSeconds: groups.reduce((most, { lagSeconds }) => Math.max(most, lagSeconds), 0),
  };
}

/** What is known of one measure, oldest first. What the hub did not keep is left out: it was not 0. */
export function known(past: readonly Moment[], measure: "lag" | "dead" | "handlerP99Ms"): readonly number[] {
  return past.flatMap((moment) => moment[measure] ?? []);
}

const KEPT_MOMENTS = 300;
/** Two looks that are closer to each other are one: a line between them would be upright. */
const APART_MS = 500;

/** What is known, with what the hub kept of the time before the snapshot, and with that, oldest first. */
export function withSnapshot(before: readonly Moment[], snapshot: Stats): readonly Moment[] {
  const newest = before.at(-1)?.atMs ?? 0;
  const past = (snapshot.past ?? [])
    .filter(({ atMs }) => atMs > newest)
    .map((sample): Moment => ({ ...sample, lag: null, lagSeconds: null, dead: null }));
  const all = [...before, ...past];
  const last = all.at(-1);
  if (last !== undefined && snapshot.atMs - last.atMs < APART_MS) all.pop();
  return [...all, momentOf(snapshot)].slice(-KEPT_MOMENTS);
}

const KEPT = 60;

/** The last minute of each name. Names that are gone are forgotten. */
export class Rings {
  #rings = new Map<string, number[]>();

  of(name: string): readonly number[] {
    return this.#rings.get(name) ?? [];
  }

  clear(): void {
    this.#rings.clear();
  }

  take(stats: Stats): void {
    const next = new Map<string, number[]>();
    const push = (name: string, value: number): void => {
      const ring = this.#rings.get(name) ?? [];
      ring.push(value);
      if (ring.length > KEPT) ring.shift();
      next.set(name, ring);
    };
    for (const { topic, publishedPerSecond } of stats.topics) push(topicRing(topic), publishedPerSecond);
    for (const { topic, group, lag, deliveredPerSecond } of stats.groups) {
      push(lagRing(topic, group), lag);
      if (deliveredPerSecond !== undefined) push(deliveredRing(topic, group), deliveredPerSecond);
    }
    this.#rings = next;
  }
}

export const topicRing = (topic: string): string => `topic ${topic}`;
export const lagRing = (topic: string, group: string): string => `lag ${topic} ${group}`;
export const deliveredRing = (topic: string, group: string): string => `delivered ${topic} ${group}`;

/** Groups that work in rounds are behind between two of them, and nobody is subscribed: that is how it should be. */
export function worksInRounds({ group }: { readonly group: string }): boolean {
  return group.startsWith("compactor:");
}

const FAR_BEHIND_SECONDS = 60;

/** Somebody should look at it. */
export function isFarBehind(one: {
  readonly group: string;
  readonly lagSeconds: number;
  readonly resting?: true;
}): boolean {
  return one.lagSeconds > FAR_BEHIND_SECONDS && !mayBeBehind(one);
}

/** Nobody has to look after it, however far behind it is. */
export function mayBeBehind(one: { readonly group: string; readonly resting?: true }): boolean {
  return one.resting === true || worksInRounds(one);
}
