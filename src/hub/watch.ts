/**
 * What all who watch share: which topics there are, how far behind the groups are and how many dead letters are open. Worked out at most once in
 * a while, however many look.
 */
import type { GroupLag } from "../bus/admin.js";
import type { Bus } from "../bus/bus.js";
import { deadLetterTopic } from "../model/topic.js";
import { countOpenLetters } from "../project/letters/open-letters.js";

const LAG_KEEP_MS = 1_000;
const LETTERS_KEEP_MS = 2_000;
const TOPICS_KEEP_MS = 2_000;

export interface OpenLetters {
  readonly open: number;
  readonly topics: Readonly<Record<string, number>>;
}

export class Watch {
  readonly lag: () => Promise<readonly GroupLag[]>;
  readonly letters: () => Promise<OpenLetters>;
  /** Names of the topics that there are. */
  readonly topics: () => Promise<ReadonlySet<string>>;

  constructor(bus: Bus) {
    this.lag = kept(bus, LAG_KEEP_MS, () => bus.admin.lag());
    this.letters = kept(bus, LETTERS_KEEP_MS, () => openLetters(bus));
    this.topics = kept(bus, TOPICS_KEEP_MS, () => topicNames(bus));
  }
}

/** One answer for all who ask within `keepMs`; a failure is not kept. */
export function kept<T>(bus: Bus, keepMs: number, find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | null = null;
  let untilMs = 0;
  return () => {
    const nowMs = bus.clock.steady();
    if (found !== null && nowMs < untilMs) return found;
    untilMs = nowMs + keepMs;
    const finding = find();
    finding.catch(() => {
      if (found === finding) found = null;
    });
    found = finding;
    return finding;
  };
}

/** Topics that have a topic of dead letters. */
export async function deadLetterSources(bus: Bus): Promise<string[]> {
  const names = await topicNames(bus);
  return [...names].filter((name) => names.has(deadLetterTopic(name)));
}

async function topicNames(bus: Bus): Promise<Set<string>> {
  return new Set((await bus.topics()).map(({ name }) => name));
}

async function openLetters(bus: Bus): Promise<OpenLetters> {
  const topics = Object.fromEntries(await countOpenLetters(bus.store, await deadLetterSources(bus)));
  return { open: Object.values(topics).reduce((sum, count) => sum + count, 0), topics };
}
