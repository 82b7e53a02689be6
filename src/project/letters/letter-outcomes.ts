/**
 * What became of dead letters stands beside them. Once retention has taken a letter, that is of no use to anybody; it would count
 * against the letters that are open, and for the same event, if its group gives it up again: the letter has the same id then (P8).
 *
 * Letters go first. A crash in between leaves outcomes without letters, which the first look of the next process finds.
 */
import type { Seq } from "../../model/event.js";
import { mapAtMost } from "../../model/map-at-most.js";
import { deadLetterTopic, isDeadLetterTopic } from "../../model/topic.js";
import type { PartitionHead } from "../../ports/log.js";
import type { Host } from "../host.js";
import { scanPages } from "../log-scan.js";
import { outcomesView } from "./letter-reading.js";

const PAGE = 200;
const FINDS_AT_ONCE = 16;
/** Beyond so many, all outcomes are looked through instead. */
const MAX_IDS = 10_000;

/** The outcomes of one topic of letters, as retention meets it. */
export class LetterOutcomes {
  readonly #host: Host;
  readonly #view: string;
  /** Some may have lost their letters, and it is not known which. */
  #isDoubtful = true;

  constructor(host: Host, topic: string) {
    this.#host = host;
    this.#view = outcomesView(topic.slice(deadLetterTopic("").length));
  }

  /** Takes letters away by `trim`, and then what became of them. */
  async trim({ partition, low }: PartitionHead, topic: string, cut: Seq): Promise<number> {
    const ids = await this.#idsOf(topic, partition, low, cut);
    const trimmed = await this.#host.store.log.trim(topic, partition, cut);
    if (ids === null) this.#isDoubtful = true;
    else await forgetOutcomes(this.#host, this.#view, ids);
    return trimmed;
  }

  /** Looks through all of them, if some may have lost their letters. */
  async tidy(signal: AbortSignal): Promise<void> {
    if (!this.#isDoubtful) return;
    const { documents, log } = this.#host.store;
    let after: string | undefined;
    do {
      const page = await documents.find(this.#view, { limit: PAGE, ...(after !== undefined && { after }) });
      const keys = page.documents.map(({ key }) => key);
      const letters = await mapAtMost(FINDS_AT_ONCE, keys, (key) => log.find(key));
      const gone = keys.filter((_, i) => letters[i] === null);
      await forgetOutcomes(this.#host, this.#view, gone);
      after = page.next ?? undefined;
    } while (after !== undefined && !signal.aborted);
    // Also what somebody left who did not come to the end of it.
    await removeTraces(this.#host, this.#view);
    this.#isDoubtful = after !== undefined;
  }

  /** Null if there are too many to be remembered. */
  async #idsOf(topic: string, partition: number, low: Seq, cut: Seq): Promise<string[] | null> {
    const ids: string[] = [];
    const stretch = { topic, partition, after: low - 1, through: cut };
    for await (const { events } of scanPages(this.#host.store.log, stretch, { pageSize: PAGE })) {
      for (const { id } of events) ids.push(id);
      if (ids.length > MAX_IDS) return null;
    }
    return ids;
  }
}

async function forgetOutcomes(host: Host, view: string, ids: readonly string[]): Promise<void> {
  const { documents } = host.store;
  const ts = host.clock.now();
  for (let from = 0; from < ids.length; from += PAGE) {
    const keys = ids.slice(from, from + PAGE);
    const there = await documents.get(view, keys);
    const writes = [...there.keys()].map((key) => ({ op: "delete" as const, key, ts }));
    if (writes.length > 0) await documents.write(view, writes);
  }
  if (ids.length > 0) await removeTraces(host, view);
}

/** A letter that comes again under the same id is a new one. */
async function removeTraces({ store }: Host, view: string): Promise<void> {
  await store.documents.purge(view, Number.MAX_SAFE_INTEGER);
}

/**
 * To be called once it is written down what became of these letters: retention may have taken some since they were read, and whoever
 * took them has forgotten only what was there by then.
 */
export async function forgetIfGone(
  host: Host,
  topic: string,
  letters: readonly { readonly id: string; readonly partition: number; readonly seq: Seq }[],
): Promise<void> {
  const name = deadLetterTopic(topic);
  const heads = (await host.store.log.headsOf([name])).get(name) ?? [];
  const gone = letters.filter(({ partition, seq }) => seq < (heads[partition]?.low ?? 0));
  const ids = gone.map(({ id }) => id);
  await forgetOutcomes(host, outcomesView(topic), ids);
}

/** Those of each topic of letters, made when first asked for. */
export class AllLetterOutcomes {
  readonly #host: Host;
  readonly #topics = new Map<string, LetterOutcomes>();

  constructor(host: Host) {
    this.#host = host;
  }

  /** Undefined if it is no topic of letters. */
  of(topic: string): LetterOutcomes | undefined {
    if (!isDeadLetterTopic(topic)) return undefined;
    const outcomes = this.#topics.get(topic) ?? new LetterOutcomes(this.#host, topic);
    this.#topics.set(topic, outcomes);
    return outcomes;
  }
}
