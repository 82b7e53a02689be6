/** Dead letters by kind: those of one topic, or of many that are asked for again and again. */
import type { Seq } from "../../model/event.js";
import { deadLetterTopic } from "../../model/topic.js";
import type { Host } from "../host.js";
import type { Letter, LetterSummary } from "./dead-letters.js";
import { lettersBehind, outcomesView } from "./letter-reading.js";

export class LetterTally {
  readonly #counts = { open: 0, redriven: 0, discarded: 0 };
  readonly #byErrorClass = new Map<string, number>();
  readonly #newest = new Map<string, { readonly ts: number; readonly message: string }>();
  readonly #byGroup = new Map<string, number>();
  readonly #byKey = new Map<string, number>();
  readonly #maxNames: number;

  /** Of keys, classes or groups beyond `maxNames`, letters are counted, but not by name. */
  constructor(maxNames = Number.POSITIVE_INFINITY) {
    this.#maxNames = maxNames;
  }

  add({ status, errorClass, error, ts, key, origin }: Letter): void {
    this.#counts[status]++;
    if (status !== "open") return;
    const isKnown = this.#count(this.#byErrorClass, errorClass);
    if (isKnown && ts >= (this.#newest.get(errorClass)?.ts ?? 0))
      this.#newest.set(errorClass, { ts, message: error.message });
    this.#count(this.#byGroup, origin.group);
    if (key !== undefined) this.#count(this.#byKey, key);
  }

  #count(counts: Map<string, number>, name: string): boolean {
    const before = counts.get(name);
    if (before === undefined && counts.size >= this.#maxNames) return false;
    counts.set(name, (before ?? 0) + 1);
    return true;
  }

  summary(): LetterSummary {
    return {
      ...this.#counts,
      byErrorClass: Object.fromEntries(this.#byErrorClass),
      errorExamples: Object.fromEntries([...this.#newest].map(([name, { message }]) => [name, message])),
      byGroup: Object.fromEntries(this.#byGroup),
      byKey: Object.fromEntries(this.#byKey),
    };
  }
}

/** Keys, classes and groups of a topic that are told apart (P13). */
const MAX_NAMES = 10_000;
/** However little seems to have changed, all are counted anew after so long: some stores only estimate how many there are. */
const MAX_AGE_MS = 60_000;

interface Count {
  /** What stood still since it was begun. */
  readonly basis: string;
  readonly begunMs: number;
  readonly tally: LetterTally;
  readonly places: Map<number, Seq>;
}

/**
 * Letters do not change, and new ones come at the ends of their partitions alone. So whoever asks again pays for those that came since;
 * only if one went, or something became of one, all are counted anew.
 */
export class LetterCounts {
  readonly #host: Host;
  readonly #counts = new Map<string, Count>();
  #asked: Promise<unknown> = Promise.resolve();

  constructor(host: Host) {
    this.#host = host;
  }

  /** By topic. What was counted of topics that are not `known` any more is forgotten. */
  of(topics: readonly string[], known = topics): Promise<ReadonlyMap<string, LetterSummary>> {
    const answer = this.#asked.then(() => this.#all(topics, new Set(known)));
    this.#asked = answer.catch(() => undefined);
    return answer;
  }

  async #all(topics: readonly string[], known: ReadonlySet<string>): Promise<Map<string, LetterSummary>> {
    const found = new Map<string, LetterSummary>();
    for (const topic of this.#counts.keys()) if (!known.has(topic)) this.#counts.delete(topic);
    for (const [topic, basis] of await this.#bases(topics)) found.set(topic, await this.#one(topic, basis));
    return found;
  }

  async #one(topic: string, basis: string): Promise<LetterSummary> {
    const nowMs = this.#host.clock.steady();
    let counted = this.#counts.get(topic);
    if (counted?.basis !== basis || nowMs - counted.begunMs > MAX_AGE_MS)
      counted = { basis, begunMs: nowMs, tally: new LetterTally(MAX_NAMES), places: new Map() };
    // Half of a page that failed must not count.
    this.#counts.delete(topic);
    for await (const letter of lettersBehind(this.#host, topic, counted.places)) counted.tally.add(letter);
    this.#counts.set(topic, counted);
    return counted.tally.summary();
  }

  /** How many outcomes are written down, and how many letters went, by partition. Looked at before the letters are. */
  async #bases(topics: readonly string[]): Promise<Map<string, string>> {
    const { documents, log } = this.#host.store;
    const settled = new Map((await documents.views()).map(({ view, documents: all }) => [view, all]));
    const heads = await log.headsOf(topics.map(deadLetterTopic));
    return new Map(
      topics.map((topic) => {
        const gone = (heads.get(deadLetterTopic(topic)) ?? []).map(({ head, events }) => head - events);
        return [topic, [settled.get(outcomesView(topic)) ?? 0, ...gone].join(" ")];
      }),
    );
  }
}
