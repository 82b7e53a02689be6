/**
 * Which `null` is a tombstone: that of a compacted topic. The answer may have to be asked for; publishes of the topic that
 * come meanwhile wait behind the question, so that none overtakes the tombstone of its key.
 */
import type { Registry } from "../../ports/registry.js";
import { splitVersioned } from "./versioned-topic.js";

export type TombstoneTopics = (topic: string) => boolean | Promise<boolean>;

/** Topics that the store compacts, `<topic>.vN` of such a topic included. Compaction is rarely taken back: yes is kept. */
export function compactedIn(registry: Pick<Registry, "topic"> | undefined): TombstoneTopics {
  const compacted = new Set<string>();
  const isCompacted = async (topic: string): Promise<boolean> =>
    (await registry?.topic(topic))?.compaction === true;
  return (topic) => {
    if (compacted.has(topic)) return true;
    if (registry === undefined) return false;
    const base = splitVersioned(topic)?.topic;
    return (async () => {
      const found = (await isCompacted(topic)) || (base !== undefined && (await isCompacted(base)));
      if (found) compacted.add(topic);
      return found;
    })();
  };
}

interface Publish {
  readonly topic: string;
  readonly payload: unknown;
}

/** A question that is on its way, for one publish. */
export interface Question {
  /** Whether the publish is a tombstone. */
  readonly answer: Promise<boolean>;
  /** To be called, at once, when the answer is there. */
  leave(): void;
}

interface Asked {
  readonly answer: Promise<boolean>;
  waiting: number;
}

export class Tombstones {
  readonly #topics: TombstoneTopics;
  readonly #asked = new Map<string, Asked>();

  constructor(topics: TombstoneTopics = () => false) {
    this.#topics = topics;
  }

  /** Of a publish that has nothing to ask. */
  isKnown({ topic, payload }: Publish): boolean {
    return payload === null && this.#topics(topic) === true;
  }

  /** undefined: there is nothing to wait for. */
  question({ topic, payload }: Publish): Question | undefined {
    const asked = this.#asked.get(topic) ?? (payload === null ? this.#ask(topic) : undefined);
    if (asked === undefined) return undefined;
    asked.waiting++;
    // As many steps for the one as for the other: the answer comes to them in the order in which they asked.
    return {
      answer: payload === null ? asked.answer.then(same) : asked.answer.then(no, no),
      leave: () => {
        if (--asked.waiting === 0) this.#asked.delete(topic);
      },
    };
  }

  #ask(topic: string): Asked | undefined {
    const answer = this.#topics(topic);
    if (typeof answer === "boolean") return undefined;
    const asked = { answer, waiting: 0 };
    this.#asked.set(topic, asked);
    return asked;
  }
}

const no = (): boolean => false;
const same = (answer: boolean): boolean => answer;
