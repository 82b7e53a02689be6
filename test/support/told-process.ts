/** A child process that tells what it does, a JSON line each, and can be killed, frozen or asked to leave. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export class ToldProcess<Line extends { readonly type: string }> {
  readonly #process: ChildProcess;
  readonly #seen = new Set<string>();
  readonly #ended: Promise<unknown>;
  #told = 0;
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
      this.#told++;
      onLine(line);
      this.#onChange();
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** Waits until it has told a line of this type. */
  async seen(type: Line["type"], withinMs = 30_000): Promise<void> {
    await this.until(() => this.#seen.has(type), `"${type}"`, withinMs);
  }

  /** Resolves once that is so; looked at whenever a line was told. `what` is told if it does not come. */
  async until(isSo: () => boolean, what: string, withinMs: number): Promise<void> {
    const untilMs = performance.now() + withinMs;
    while (!isSo()) {
      if (this.#process.exitCode !== null) throw new Error(`it ended before ${what}: ${this.#errors}`);
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) throw new Error(`no ${what} within ${withinMs} ms: ${this.#errors}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#onChange = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Waits until it has ended as by kill -9; fails if it ends in another way, or not at all. */
  async killed(withinMs: number): Promise<void> {
    await this.#end(withinMs);
    const { exitCode, signalCode } = this.#process;
    if (signalCode !== "SIGKILL") throw new Error(`it ended with ${exitCode}: ${this.#errors}`);
  }

  /** Waits until it has come to its end in good order; fails if it does not, or tells nothing for so long. */
  async finished(silentMs: number): Promise<void> {
    const told = this.#told;
    await this.#end(silentMs).catch(async (error: unknown) => {
      if (this.#told === told) throw error;
      await this.finished(silentMs);
    });
    this.#demandSuccess();
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }

  /** Asks it to end in good order; fails if it does not. */
  async leave(): Promise<void> {
    this.#process.kill("SIGTERM");
    await this.#ended;
    this.#demandSuccess();
  }

  freeze(): void {
    this.#process.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process.kill("SIGCONT");
  }

  async #end(withinMs: number): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      late = setTimeout(
        () => reject(new Error(`it did not end within ${withinMs} ms: ${this.#errors}`)),
        withinMs,
      );
    });
    try {
      await Promise.race([this.#ended, limit]);
    } finally {
      clearTimeout(late);
    }
  }

  #demandSuccess(): void {
    if (this.#process.exitCode !== 0) throw new Error(`exit code ${this.#process.exitCode}: ${this.#errors}`);
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
