import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { Connection } from "../../src/stores/embedded/sqlite.js";
import { ensureBuilt, PROGRAM } from "../support/cli.js";

const script = (name: string): string => fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));
const program = script("start.mjs");
const SOON = { timeout: 60_000, interval: 50 };

let data = "";
let running: ChildProcessWithoutNullStreams | undefined;
// What a first start does besides, and what may take its time.
beforeAll(ensureBuilt);
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "promethean-start-"));
});
afterEach(() => {
  running?.kill("SIGKILL");
  running = undefined;
  rmSync(data, { recursive: true, force: true });
});

function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(command, args, {
    env: { ...process.env, PROMETHEAN_DATA: data, PROMETHEAN_PORT: "0", ...env },
  });
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
function startInTerminal(env: Record<string, string> = {}, args = "") {
  const command = `stty cols 80 rows 24; exec '${process.execPath}' '${program}' ${args}`;
  return run("script", ["--quiet", "--return", "--flush", "--command", command, "/dev/null"], {
    TERM: "xterm",
    ...env,
  });
}

const LINK = /(http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)/;
const LINE = /^\S+Z (\d+) processes, \d+ stale; ([\d,]+) events published, ([\d,]+) delivered, lag \d+/m;
const SUMMARY = /^Stopped after .+: \d+ processes, [\d,]+ events published, [\d,]+ delivered, lag \d+\.\r?$/m;

async function failure(env: Record<string, string>, code = 1): Promise<string> {
  const { said, ended } = run(process.execPath, [program], env);
  expect(await ended).toBe(code);
  const words = said.err
    .split("\n")
    .filter((text) => !text.startsWith("Building"))
    .join("\n");
  expect(words).not.toMatch(/^\s+at /m);
  expect(words.trim().split("\n").length).toBeLessThanOrEqual(3);
  return words;
}

describe("npm start", () => {
  it("prints a link that signs in to a hub with live data, goes on from where it was, and ends on SIGTERM", async () => {
    const first = start();
    await vi.waitFor(() => expect(first.said.out).toMatch(LINE), SOON);
    const [, url = "", token = ""] = LINK.exec(first.said.out) as RegExpExecArray;
    expect(statSync(join(data, "admin-token")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(data, "admin-token"), "utf8").trim()).toBe(token);
    const get = (path: string): Promise<Response> =>
      fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
    expect((await fetch(`${url}/topics`)).status).toBe(401);
    await vi.waitFor(async () => {
      const { items } = (await (await get("/snap/processes")).json()) as { items: { status: string }[] };
      expect(items.map(({ status }) => status)).toContain("alive");
    }, SOON);
    first.child.kill("SIGTERM");
    expect(await first.ended).toBe(0);
    expect(first.said.out).toMatch(SUMMARY);
    expect(first.said.out).not.toContain("\x1b");
    expect(existsSync(join(data, "hub.json"))).toBe(false);

    const second = start();
    await vi.waitFor(() => expect(second.said.out).toMatch(LINE), SOON);
    expect(LINK.exec(second.said.out)?.[2]).toBe(token);
    expect(Number(LINE.exec(second.said.out)?.[1])).toBeGreaterThan(0);
    second.child.kill("SIGTERM");
    expect(await second.ended).toBe(0);
  });

  it("keeps a status line up to date in a terminal, and leaves it in order on Ctrl-C", async () => {
    const { child, said, ended } = startInTerminal({ NO_COLOR: "1" });
    await vi.waitFor(() => expect(said.out).toMatch(/\r {2}\d+ process(es)?; .*up \d/), SOON);
    expect(said.out).toMatch(LINK);
    for (const colour of [1, 2, 22, 33, 39]) expect(said.out).not.toContain(`\x1b[${colour}m`);
    child.stdin.write("\x03");
    expect(await ended).toBe(0);
    expect(said.out.split("\x1b[K").at(-1)).toMatch(SUMMARY);
  });

  it("draws a table in a terminal if asked, under the link, and gives the terminal back", async () => {
    const { child, said, ended } = startInTerminal({}, "--table");
    await vi.waitFor(() => expect(said.out).toMatch(/PROCESS.*PID.*CPU %[\s\S]*alive/), SOON);
    const [, frame = ""] = said.out.split("\x1b[H");
    expect(frame).toMatch(/^http:\S+#token=[\s\S]*Promethean: \d+ process/);
    child.stdin.write("\x03");
    expect(await ended).toBe(0);
    const [, last] = said.out.split("\x1b[?25h\x1b[?1049l");
    expect(last).toMatch(SUMMARY);
    expect(last?.trim().split("\n")).toHaveLength(1);
  });

  it("explains itself, and refuses what it does not know", async () => {
    const help = start("--help");
    expect(await help.ended).toBe(0);
    expect(help.said.out).toContain("PROMETHEAN_PORT");
    const unknown = start("--nonsense");
    expect(await unknown.ended).toBe(2);
    expect(unknown.said.err).toContain("unknown option '--nonsense'");
  });

  it("says that the port is taken, and how to choose another", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    try {
      const words = await failure({ PROMETHEAN_PORT: String(port) }, 2);
      expect(words).toContain(`port ${port} on 127.0.0.1 is taken`);
      expect(words).toContain("PROMETHEAN_PORT=0");
    } finally {
      other.close();
    }
  });

  it.each([
    ["192.0.2.1", "cannot listen on 192.0.2.1:0 (E"],
    ["2001:db8::1", "cannot listen on [2001:db8::1]:0 (E"],
    ["[::1]", "cannot listen on [::1]:0 (E"],
  ])("says that %s is no address of this machine, and how to choose another", async (host, said) => {
    const words = await failure({ PROMETHEAN_HOST: host }, 2);
    expect(words).toContain(said);
    expect(words).toContain("PROMETHEAN_HOST=127.0.0.1");
    expect(words).not.toContain("port:");
  });

  it("says that a hub runs there already, and where", async () => {
    const first = start();
    await vi.waitFor(() => expect(first.said.out).toMatch(LINK), SOON);
    const words = await failure({});
    expect(words).toContain(`already (process ${first.child.pid})`);
    expect(words).toMatch(LINK);
    first.child.kill("SIGTERM");
    expect(await first.ended).toBe(0);
  });

  it.each([
    ["a file in the way", "/dev/null/nowhere", /nowhere cannot be made|\/dev\/null cannot be made/],
    ["a place where nothing can be made", "/proc/promethean", /\/proc\/promethean cannot be made/],
  ])("says in two lines why it cannot start: %s", async (_, folder, words) => {
    const said = await failure({ PROMETHEAN_DATA: folder });
    expect(said).toMatch(words);
    expect(said).toContain("PROMETHEAN_DATA=");
  });

  it("leaves a file of another program alone, and says so", async () => {
    writeFileSync(join(data, "bus.db"), "this is no database, but it is somebody's\n".repeat(100));
    const words = await failure({});
    expect(words).toContain("bus.db");
    expect(words).toContain("PROMETHEAN_DATA=");
    expect(readFileSync(join(data, "bus.db"), "utf8")).toContain("somebody's");
  });

  it("leaves a file of a newer version alone, and says what to do", async () => {
    const store = embeddedStore({ path: join(data, "bus.db") });
    await store.open();
    await store.close();
    const file = new Connection(join(data, "bus.db"), { busyTimeoutMs: 1_000 });
    file.exec("PRAGMA user_version = 99");
    file.close();
    const words = await failure({});
    expect(words).toMatch(/newer/);
    expect(words).toContain("PROMETHEAN_DATA=");
  });

  it("says that it may not write", async () => {
    chmodSync(data, 0o555);
    // Root may write anywhere: then it is somebody else who tries.
    const somebody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const env = { ...process.env, PROMETHEAN_DATA: data, PROMETHEAN_PORT: "0" };
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, "up"], {
      ...somebody,
      env,
      encoding: "utf8",
    });
    chmodSync(data, 0o755);
    expect(stderr).toContain(`the folder ${data} cannot be written`);
    expect(status).toBe(1);
  });
});
