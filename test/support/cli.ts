/** The built `promethean` command as a child process. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
export const PROGRAM = file("dist/cli/main.js");

/** Builds what is not built; a wrong build shows as a failure here. */
export function ensureBuilt(): void {
  const done = spawnSync(process.execPath, [file("scripts/setup.mjs")], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`set-up failed: ${done.stderr}`);
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
  /** Leave stdin open, for keys to come. */
  readonly open?: boolean;
}

/** Of the environment only what a shell needs, so that nothing of the developer's own gets in. */
function environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, TMPDIR, PROMETHEAN_CONTEXTS: "/nonexistent/contexts.json", ...env };
}

export class Running {
  readonly child: ChildProcessWithoutNullStreams;
  out = "";
  err = "";
  readonly ended: Promise<Ended>;

  constructor(command: string, args: readonly string[], { env, cwd, input, open }: RunOptions = {}) {
    this.child = spawn(command, args, { env: environment(env), ...(cwd !== undefined && { cwd }) });
    this.child.stdout.on("data", (chunk: Buffer) => {
      this.out += chunk.toString();
    });
    this.child.stderr.on("data", (chunk: Buffer) => {
      this.err += chunk.toString();
    });
    // A program that is gone does not take the rest of its input.
    this.child.stdin.on("error", () => undefined);
    if (!open) this.child.stdin.end(input ?? "");
    this.ended = once(this.child, "close").then(([code]) => ({
      code: code as number | null,
      out: this.out,
      err: this.err,
    }));
  }
}

export function start(args: readonly string[], options: RunOptions = {}): Running {
  return new Running(process.execPath, [PROGRAM, ...args], options);
}

export function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}

/** A line as one would type it, with `promethean` on the PATH. */
export function shell(line: string, options: RunOptions & { readonly bin: string }): Running {
  const PATH = `${options.bin}:${process.env.PATH}`;
  return new Running("bash", ["-c", `set -o pipefail; ${line}`], {
    ...options,
    env: { ...options.env, PATH },
  });
}

/** A folder with `promethean` in it. */
export function makeBin(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const program = join(folder, "promethean");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  return folder;
}
