/**
 * What all who watch share: how far behind the groups are and how many dead letters are open. Worked out at most once in
 * a while, however many look.
 */
import type { GroupLag } from "../bus/admin.js";
import type { Bus } from "../bus/bus.js";
import { deadLetterTopic } from "../model/topic.js";
import { outcomesView } from "../project/letter-reading.js";

const LAG_KEEP_MS = 1_000;
const LETTERS_KEEP_MS = 2_000;

export interface OpenLetters {
  readonly open: number;
  readonly topics: Readonly<Record<string, number>>;
}

export class Watch {
  readonly lag: () => Promise<readonly GroupLag[]>;
  readonly letters: () => Promise<OpenLetters>;

  constructor(bus: Bus) {
    this.lag = kept(bus, LAG_KEEP_MS, () => bus.admin.lag());
    this.letters = kept(bus, LETTERS_KEEP_MS, () => openLetters(bus));
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
  const names = new Set((await bus.topics()).map(({ name }) => name));
  return [...names].filter((name) => names.has(deadLetterTopic(name)));
}

/** By counts alone, without reading them: letters there are, less those of which an outcome is written down. */
async function openLetters(bus: Bus): Promise<OpenLetters> {
  const { documents, log } = bus.store;
  const settled = new Map((await documents.views()).map(({ view, documents: count }) => [view, count]));
  const topics: Record<string, number> = {};
  const sources = await deadLetterSources(bus);
  const heads = await log.headsOf(sources.map(deadLetterTopic));
  for (const topic of sources) {
    const name = deadLetterTopic(topic);
    const stored = (heads.get(name) ?? []).reduce((sum, { events }) => sum + events, 0);
    const open = stored - (settled.get(outcomesView(topic)) ?? 0);
    if (open > 0) topics[topic] = open;
  }
  return { open: Object.values(topics).reduce((sum, count) => sum + count, 0), topics };
}
