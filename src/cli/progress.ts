/** A progress bar on stderr while long work goes on; nothing where nobody watches. */
import { bar, count, dataSize } from "./quantities.js";
import { clipText, printableText } from "./text-width.js";

const WIDTH = 24;
const EVERY_MS = 100;
/** Before that, a rate says nothing. */
const RATE_AFTER_SECONDS = 0.5;

/** What is counted. Of a share of the whole there is no rate. */
export type ProgressUnit = "events" | "bytes" | "share";

const RATES: Readonly<Record<ProgressUnit, (perSecond: number) => string>> = {
  events: (perSecond) => `${count(Math.round(perSecond))}/s`,
  bytes: (perSecond) => `${dataSize(Math.round(perSecond))}/s`,
  share: () => "",
};

export class Progress {
  readonly #title: string;
  readonly #total: number | undefined;
  readonly #unit: ProgressUnit;
  readonly #shown: boolean;
  readonly #startMs = performance.now();
  #drawnMs = Number.NEGATIVE_INFINITY;
  #done = 0;

  /** `total` may be unknown. */
  constructor(
    title: string,
    total: number | undefined,
    unit: ProgressUnit,
    shown = process.stderr.isTTY === true,
  ) {
    this.#title = printableText(title);
    this.#total = total;
    this.#unit = unit;
    this.#shown = shown && process.env.TERM !== "dumb";
  }

  /** Somebody watches. */
  get isShown(): boolean {
    return this.#shown;
  }

  add(amount: number): void {
    this.at(this.#done + amount);
  }

  at(done: number): void {
    this.#done = done;
    if (!this.#shown || performance.now() - this.#drawnMs < EVERY_MS) return;
    this.#drawnMs = performance.now();
    const seconds = (performance.now() - this.#startMs) / 1_000;
    const parts = { title: this.#title, done, total: this.#total, unit: this.#unit, seconds };
    process.stderr.write(`\r${progressLine(parts, process.stderr.columns || 80)}\x1b[K`);
  }

  /** Leaves no trace. */
  end(): void {
    if (this.#shown && this.#drawnMs > 0) process.stderr.write("\r\x1b[K");
  }
}

interface ProgressParts {
  readonly title: string;
  readonly done: number;
  readonly total: number | undefined;
  readonly unit: ProgressUnit;
  readonly seconds: number;
}

/** Less than a line of the terminal: one that wraps cannot be drawn over. The title is cut first. */
export function progressLine({ title, done, total, unit, seconds }: ProgressParts, columns: number): string {
  const rate = seconds < RATE_AFTER_SECONDS ? "" : RATES[unit](done / seconds);
  const share = total ? Math.min(1, done / total) : undefined;
  const amount = unit === "bytes" ? dataSize(done) : count(done);
  const figures =
    share === undefined ? amount : `${bar(share, WIDTH).padEnd(WIDTH, "░")} ${Math.floor(share * 100)} %`;
  const told = [figures, rate].filter(Boolean).join("  ");
  const room = Math.max(8, columns - 1 - told.length - 2);
  return clipText(`${clipText(title, room)}  ${told}`, columns - 1);
}
