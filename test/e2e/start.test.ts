import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

const script = (name: string): string => fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));
const program = script("start.mjs");
const SOON = { timeout: 60_000, interval: 50 };

let data = "";
let running: ChildProcessWithoutNullStreams | undefined;
// What a first start does besides, and what may take its time.
beforeAll(() => expect(spawnSync(process.execPath, [script("setup.mjs")]).status).toBe(0));
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "promethean-start-"));
});
afterEach(() => {
  running?.kill("SIGKILL");
  running = undefined;
  rmSync(data, { recursive: true, force: true });
});

function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(command, args, { env: { ...process.env, PROMETHEAN_DATA: data, ...env } });
  running = child;
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => {
    said.out += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    said.err += chunk.toString();
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  return { child, said, ended };
}

const start = (...args: string[]) => run(process.execPath, [program, ...args]);

/** The same in a terminal of its own, 80 columns by 24 lines. */
function startInTerminal(env: Record<string, string> = {}) {
  const command = `stty cols 80 rows 24; exec '${process.execPath}' '${program}'`;
  return run("script", ["--quiet", "--return", "--flush", "--command", command, "/dev/null"], {
    TERM: "xterm",
    ...env,
  });
}

const LINE = /^\S+Z (\d+) processes, \d+ stale; ([\d,]+) events published, ([\d,]+) delivered, lag \d+$/m;
const SUMMARY = /^Stopped after .+: \d+ processes, [\d,]+ events published, [\d,]+ delivered, lag \d+\.\r?$/m;

describe("npm start", () => {
  it("prints what it sees, goes on from where it was, and ends on SIGTERM with a summary", async () => {
    const first = start();
    await vi.waitFor(() => expect(first.said.out).toMatch(LINE), SOON);
    const [, processes] = LINE.exec(first.said.out) as RegExpExecArray;
    expect(Number(processes)).toBeGreaterThan(0);
    first.child.kill("SIGTERM");
    expect(await first.ended).toBe(0);
    expect(first.said.out).toMatch(SUMMARY);
    expect(first.said.out).not.toContain("\x1b");

    const second = start();
    await vi.waitFor(() => expect(second.said.out).toMatch(LINE), SOON);
    const [, remembered, published] = LINE.exec(second.said.out) as RegExpExecArray;
    expect(Number(remembered)).toBeGreaterThan(0);
    expect(published).toBe("0");
    second.child.kill("SIGTERM");
    expect(await second.ended).toBe(0);
  });

  it("draws a table in a terminal and gives the terminal back on Ctrl-C", async () => {
    const { child, said, ended } = startInTerminal();
    await vi.waitFor(() => expect(said.out).toMatch(/PROCESS.*PID.*CPU %[\s\S]*alive/), SOON);
    expect(said.out).toContain("\x1b[?25l");
    expect(said.out).toMatch(/Promethean: \d+ process/);
    child.stdin.write("\x03");
    expect(await ended).toBe(0);
    const [, last] = said.out.split("\x1b[?25h\x1b[?1049l");
    expect(last).toMatch(SUMMARY);
    expect(last?.trim().split("\n")).toHaveLength(1);
    expect(said.err).toBe("");
  });

  it("honours NO_COLOR", async () => {
    const { child, said, ended } = startInTerminal({ NO_COLOR: "1" });
    await vi.waitFor(() => expect(said.out).toMatch(/PROCESS/), SOON);
    child.stdin.write("\x03");
    await ended;
    for (const colour of [1, 2, 22, 33, 39]) expect(said.out).not.toContain(`\x1b[${colour}m`);
  });

  it("explains itself, and refuses what it does not know", async () => {
    const help = start("--help");
    expect(await help.ended).toBe(0);
    expect(help.said.out).toContain("PROMETHEAN_PORT");
    const unknown = start("--nonsense");
    expect(await unknown.ended).toBe(2);
    expect(unknown.said.err).toContain("unknown option '--nonsense'");
  });

  it("says in one line why it cannot start", async () => {
    const { said, ended } = run(process.execPath, [program], { PROMETHEAN_DATA: "/dev/null/nowhere" });
    expect(await ended).toBe(1);
    const [line, ...more] = said.err
      .trim()
      .split("\n")
      .filter((text) => !text.startsWith("Building"));
    expect(line).toMatch(/^promethean: .*nowhere/);
    expect(more).toEqual([]);
  });
});
