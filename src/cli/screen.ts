/** A terminal that is drawn over and over, on a screen of its own: what was there before comes back at the end. */
import type { FrameSize } from "./table-frame.js";
import { clipText } from "./text-width.js";

/** As much of a terminal as a screen needs; `process.stdout` is one. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
}

const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";
const CLEAR_LINE_END = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";

/** Whether it can be drawn over: not a pipe, nor a terminal that knows no cursor. */
export function isScreen(isTerminal = process.stdout.isTTY === true, kind = process.env.TERM): boolean {
  return isTerminal && kind !== "dumb";
}

export class Screen {
  readonly #terminal: Terminal;
  #entered = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get size(): FrameSize {
    return { columns: this.#terminal.columns, lines: this.#terminal.rows };
  }

  enter(): void {
    if (this.#entered) return;
    this.#entered = true;
    this.#terminal.write(ENTER);
  }

  /** Over what was drawn last, in one write, so that nothing flickers. */
  draw(lines: readonly string[]): void {
    if (!this.#entered) return;
    this.#terminal.write(HOME + lines.map((line) => line + CLEAR_LINE_END).join("\r\n") + CLEAR_BELOW);
  }

  /** As `draw`, for plain lines, however long and many: a line that wraps would move all below it. */
  drawFitting(lines: readonly string[]): void {
    const { columns, lines: rows } = this.size;
    const more = `… and ${lines.length - rows + 1} more`;
    const shown = lines.length <= rows ? lines : [...lines.slice(0, rows - 1), more];
    this.draw(shown.map((line) => clipText(line, columns)));
  }

  /** Gives the terminal back as it was. Twice is harmless. */
  leave(): void {
    if (!this.#entered) return;
    this.#entered = false;
    this.#terminal.write(LEAVE);
  }
}
