/** A child process that tells what it does, a JSON line each, and can be killed, frozen or asked to leave. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export class ToldProcess<Line extends { readonly type: string }> {
  readonly #process: ChildProcess;
  readonly #seen = new Set<string>();
  readonly #ended: Promise<unknown>;
  #errors = "";
  #onChange: () => void = () => undefined;

  constructor(program: string, args: readonly string[], onLine: (line: Line) => void) {
    this.#process = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    this.#ended = once(this.#process, "close");
    this.#process.once("close", () => this.#onChange());
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    createInterface({ input: this.#process.stdout as NodeJS.ReadableStream }).on("line", (text) => {
      const line = parse<Line>(text);
      if (line === null) return;
      this.#seen.add(line.type);
      onLine(line);
      this.#onChange();
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** Waits until it has told a line of this type. */
  async seen(type: Line["type"], withinMs = 30_000): Promise<void> {
    const untilMs = performance.now() + withinMs;
    while (!this.#seen.has(type)) {
      if (this.#process.exitCode !== null) throw new Error(`it ended before "${type}": ${this.#errors}`);
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) throw new Error(`no "${type}" within ${withinMs} ms: ${this.#errors}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#onChange = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }

  /** Asks it to end in good order; fails if it does not. */
  async leave(): Promise<void> {
    this.#process.kill("SIGTERM");
    await this.#ended;
    if (this.#process.exitCode !== 0) throw new Error(`exit code ${this.#process.exitCode}: ${this.#errors}`);
  }

  freeze(): void {
    this.#process.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process.kill("SIGCONT");
  }
}

/** The last line of a killed process may be cut short: then it was never said. */
function parse<Line>(text: string): Line | null {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return null;
  }
}
