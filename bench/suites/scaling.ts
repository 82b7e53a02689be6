/**
 * Whether cost grows only as it should: an event costs the same in a long log as in a short one, among many topics and
 * partitions as in one; ten groups share one read; groups that have nothing to do cost next to nothing. On the embedded
 * store, where all of it is at work. Costs are processor time of the whole process, its threads included.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Case, Ratio, Suite } from "../suite.js";
import {
  amongIndexed,
  endToEnd,
  type Indexed,
  idling,
  inLog,
  MANY_KEYS,
  RANDOM_IDS,
  type Spread,
  WINDOW,
} from "./scaling/loads.js";

/** `--long` */
const LONG = process.env.PROMETHEAN_BENCH_LONG === "1";
const SIZES = [10_000, 100_000, 1_000_000, ...(LONG ? [10_000_000] : [])];
const INDEXED = SIZES.slice(1);
/** Enough that work on their index, which comes in lumps, is among it. */
const INDEXED_EVENTS = 200_000;
const TOPICS = [1, 10, 1_000];
const PARTITIONS = [1, 8, 64];
const GROUPS = [1, 10];
const EVENTS = 10_000;
/** So many that what the compiler still does meanwhile is little of it. */
const SPREAD_EVENTS = 100_000;
const MANY = 1_000;
/** Among 64 partitions an append carries 256 events then, not 16: what is left is what partitions cost, not small appends. */
const MANY_IN_FLIGHT = 16_384;

const folder = mkdtempSync(join(tmpdir(), "promethean-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

const shown = (n: number): string => n.toLocaleString("en");
const PUBLISHED = "publish";
const CONSUMED = "consume";
const inLogOf = (kind: string, events: number): string => `${kind}, by events in the log: ${shown(events)}`;
const amongRandom = (n: number): string => `publish under random ids, by ids in the store: ${shown(n)}`;
const amongKeys = (n: number): string =>
  `publish with keys that are indexed, by events in the store: ${shown(n)}`;
const amongTopics = (n: number): string => `publish to handled, by topics: ${shown(n)}`;
const inRuns = (n: number): string =>
  `publish to handled, by topics, ${shown(WINDOW)} events of one after the other: ${shown(n)}`;
const amongPartitions = (n: number): string => `publish to handled, by partitions: ${n}`;
const amongPartitionsFull = (n: number): string =>
  `publish to handled, by partitions, ${shown(MANY_IN_FLIGHT)} events in flight: ${n}`;
const byGroups = (n: number): string => `publish to handled, by groups: ${n}`;

const cost = (name: string, measure: Case["measure"]): Case => ({ name, unit: "µs/event", measure });

function sizeCase(events: number): Case {
  const name = inLogOf(PUBLISHED, events);
  return {
    ...cost(name, () => inLog(folder, events, EVENTS)),
    also: [{ name: inLogOf(CONSUMED, events), unit: "µs/event" }],
  };
}

function indexedCase(name: string, kind: Indexed, size: number): Case {
  return cost(name, () => amongIndexed(folder, kind, { size, events: INDEXED_EVENTS }));
}

function spreadCase(name: string, load: Partial<Spread>): Case {
  return cost(name, () =>
    endToEnd(
      folder,
      { topics: 1, partitions: 1, groups: 1, run: 1, inFlight: WINDOW, ...load },
      SPREAD_EVENTS,
    ),
  );
}

function idleCase(name: string, load: { topics: number; groups: number }): Case {
  return {
    name: `${name}, share of a core`,
    unit: "%",
    atMost: 2,
    also: [
      { name: `${name}, to subscribe`, unit: "ms" },
      { name: `${name}, to look up their lags`, unit: "ms" },
    ],
    measure: () => idling(folder, load),
  };
}

/** The most against the least of each row: what grows shows there first. */
function growth(name: (n: number) => string, from: number, to: number, atMost: number): Ratio {
  return { name: `${name(to)} / ${shown(from)}`, of: name(to), to: name(from), atMost };
}

export const suite: Suite = {
  name: "scaling",
  cases: [
    ...SIZES.map(sizeCase),
    ...INDEXED.map((size) => indexedCase(amongRandom(size), RANDOM_IDS, size)),
    ...INDEXED.map((size) => indexedCase(amongKeys(size), MANY_KEYS, size)),
    ...TOPICS.map((topics) => spreadCase(amongTopics(topics), { topics })),
    spreadCase(inRuns(MANY), { topics: MANY, run: WINDOW }),
    ...PARTITIONS.map((partitions) => spreadCase(amongPartitions(partitions), { partitions })),
    ...[1, 64].map((partitions) =>
      spreadCase(amongPartitionsFull(partitions), { partitions, inFlight: MANY_IN_FLIGHT }),
    ),
    ...GROUPS.map((groups) => spreadCase(byGroups(groups), { groups })),
    idleCase(`${shown(MANY)} idle groups`, { topics: 1, groups: MANY }),
    idleCase(`1 group of ${shown(MANY)} idle topics`, { topics: MANY, groups: 1 }),
  ],
  ratios: [
    growth((n) => inLogOf(PUBLISHED, n), 10_000, SIZES.at(-1) ?? 0, 1.15),
    growth((n) => inLogOf(CONSUMED, n), 10_000, SIZES.at(-1) ?? 0, 1.15),
    growth(amongRandom, 100_000, INDEXED.at(-1) ?? 0, 1.15),
    growth(amongKeys, 100_000, INDEXED.at(-1) ?? 0, 1.15),
    growth(amongTopics, 1, 1_000, 1.15),
    { name: `${inRuns(MANY)} / 1`, of: inRuns(MANY), to: amongTopics(1), atMost: 1.15 },
    growth(amongPartitions, 1, 64, 1.15),
    growth(amongPartitionsFull, 1, 64, 1.15),
    growth(byGroups, 1, 10, 3),
  ],
};
