/** Tells whoever watches that the hub is gone, and that it is back: each once. */
import type { Output } from "./output.js";

export class Absence {
  readonly #out: Output;
  readonly #name: string;
  /** What is told while it lasts. */
  readonly words: string;
  #isTold = false;

  constructor(out: Output, name: string, command: string) {
    this.#out = out;
    this.#name = name;
    this.words = `${name} is gone; ${command} goes on once it is back`;
  }

  tell(): void {
    if (!this.#isTold) this.#out.note(this.words);
    this.#isTold = true;
  }

  over(): void {
    if (this.#isTold) this.#out.note(`${this.#name} is back`);
    this.#isTold = false;
  }
}
