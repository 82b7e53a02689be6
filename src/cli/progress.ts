/** A progress bar on stderr while long work goes on; nothing where nobody watches. */
import { bar, count } from "./quantities.js";

const WIDTH = 24;
const EVERY_MS = 100;

export class Progress {
  readonly #title: string;
  readonly #total: number | undefined;
  readonly #shown: boolean;
  readonly #startMs = performance.now();
  #drawnMs = Number.NEGATIVE_INFINITY;
  #done = 0;

  /** `total` may be unknown. */
  constructor(title: string, total?: number, shown = process.stderr.isTTY === true) {
    this.#title = title;
    this.#total = total;
    this.#shown = shown && process.env.TERM !== "dumb";
  }

  add(amount: number): void {
    this.at(this.#done + amount);
  }

  at(done: number): void {
    this.#done = done;
    if (!this.#shown || performance.now() - this.#drawnMs < EVERY_MS) return;
    this.#drawnMs = performance.now();
    process.stderr.write(`\r${this.#text()}\x1b[K`);
  }

  /** Leaves no trace. */
  end(): void {
    if (this.#shown && this.#drawnMs > 0) process.stderr.write("\r\x1b[K");
  }

  #text(): string {
    const seconds = (performance.now() - this.#startMs) / 1_000;
    const rate = seconds > 0 ? `${count(Math.round(this.#done / seconds))}/s` : "";
    if (!this.#total) return `${this.#title}  ${count(this.#done)}  ${rate}`;
    const share = Math.min(1, this.#done / this.#total);
    return `${this.#title}  ${bar(share, WIDTH).padEnd(WIDTH, "░")} ${Math.floor(share * 100)} %  ${rate}`;
  }
}
