/**
 * Puts events of one partition that had their last try among the dead letters (P8), in the order in which they were given
 * up: one append at a time, of whatever gathered while the one before was under way. Of an append that fails, each letter is
 * tried again by itself: one that the store will not have must not hold up the others. One that is too large for it goes
 * without what the log has of its event: a group must not be stuck on an event because it cannot be copied (P15).
 */
import { chunkEnd } from "../model/chunk-end.js";
import { BusError } from "../model/errors.js";
import type { GivenUp } from "./dead-letter.js";
import type { Entry } from "./entry.js";
import { type Insisting, insist } from "./insist.js";

/** Letters of one append. The bytes are those of their events; a letter is larger by what was thrown. */
const AT_ONCE = { items: 256, bytes: 1 << 20 };

interface Burial {
  readonly entry: Entry;
  readonly letter: GivenUp;
}

export interface BurialOptions {
  /** All of them, or it throws; a letter that is there already is no mistake. */
  readonly append: (letters: readonly GivenUp[]) => Promise<void>;
  readonly insisting: Insisting;
  readonly buried: (entry: Entry) => void;
}

export class Burials {
  readonly #options: BurialOptions;
  #waiting: Burial[] = [];
  #isRunning = false;

  constructor(options: BurialOptions) {
    this.#options = options;
  }

  add(entry: Entry, letter: GivenUp): void {
    this.#waiting.push({ entry, letter });
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // What is given up in the same step goes with it.
    await null;
    while (this.#waiting.length > 0) await this.#bury(this.#next());
    this.#isRunning = false;
  }

  #next(): readonly Burial[] {
    return this.#waiting.splice(
      0,
      chunkEnd(this.#waiting, 0, AT_ONCE, ({ letter }) => letter.event.size),
    );
  }

  async #bury(burials: readonly Burial[]): Promise<void> {
    try {
      await this.#options.append(burials.map(({ letter }) => letter));
    } catch (error) {
      const isKnown = burials.length === 1 && !isTooLarge(error);
      for (const burial of burials) void this.#insistOn(burial, isKnown ? error : undefined);
      return;
    }
    for (const { entry } of burials) this.#options.buried(entry);
  }

  async #insistOn({ entry, letter }: Burial, error: unknown): Promise<void> {
    const { insisting, buried } = this.#options;
    if (await insist(() => this.#append(letter), insisting, error)) buried(entry);
  }

  async #append(letter: GivenUp): Promise<void> {
    const { append } = this.#options;
    try {
      await append([letter]);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      await append([{ ...letter, incomplete: true }]);
    }
  }
}

function isTooLarge(error: unknown): boolean {
  return BusError.is(error, "PAYLOAD_TOO_LARGE");
}
