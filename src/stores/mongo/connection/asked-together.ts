/**
 * Questions that are asked at about the same time, sent as one: whoever takes part in a thousand groups asks a thousand times
 * the same, and a command costs both ends more than what it is about. Those of one turn of the event loop go together, and
 * so do those that come while enough are under way. An answer is never older than its question.
 */
import { type ChunkBounds, chunkEnd } from "../../../model/chunk-end.js";

const MOST: ChunkBounds = { items: 128, bytes: Number.POSITIVE_INFINITY };
/** More than one, so that a connection that falls silent does not hold up everybody. */
const MAX_UNDER_WAY = 2;

/** How many questions go together. */
export interface TogetherOptions<Q> {
  readonly most: ChunkBounds;
  readonly sizeOf: (question: Q) => number;
}

interface Asked<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

export class AskedTogether<Q, A> {
  readonly #ask: (questions: readonly Q[]) => Promise<readonly A[]>;
  readonly #options: TogetherOptions<Q>;
  readonly #waiting: Asked<Q, A>[] = [];
  #isScheduled = false;
  #underWay = 0;

  /** `ask` answers in the order of the questions; what it throws is everybody's answer. */
  constructor(
    ask: (questions: readonly Q[]) => Promise<readonly A[]>,
    options: TogetherOptions<Q> = { most: MOST, sizeOf: () => 0 },
  ) {
    this.#ask = ask;
    this.#options = options;
  }

  ask(question: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      while (this.#waiting.length > 0 && this.#underWay < MAX_UNDER_WAY) void this.#send();
    });
  }

  async #send(): Promise<void> {
    const { most, sizeOf } = this.#options;
    const asked = this.#waiting.splice(
      0,
      chunkEnd(this.#waiting, 0, most, ({ question }) => sizeOf(question)),
    );
    this.#underWay++;
    try {
      const answers = await this.#ask(asked.map(({ question }) => question));
      for (const [i, { resolve }] of asked.entries()) resolve(answers[i] as A);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
    this.#underWay--;
    this.#schedule();
  }
}
