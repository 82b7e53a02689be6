/** From the return key behind `npm start` to a console that has something to show. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const LINK = /(http:\/\/\S+)\/#token=(\S+)/;
const DEADLINE_MS = 60_000;
const POLL_MS = 10;

export async function startToData(root: string): Promise<number> {
  const data = await mkdtemp(join(tmpdir(), "promethean-bench-"));
  const startMs = performance.now();
  // A group of its own: npm and what it starts end together.
  const child = spawn("npm", ["start"], {
    cwd: root,
    detached: true,
    env: { ...process.env, PROMETHEAN_DATA: data, PROMETHEAN_PORT: "0" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const { url, token } = await linkOf(child);
    await shows(url, token, startMs + DEADLINE_MS);
    return performance.now() - startMs;
  } finally {
    const ended = child.exitCode === null ? once(child, "exit") : Promise.resolve();
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await ended;
    await rm(data, { recursive: true, force: true });
  }
}

async function linkOf(child: ChildProcess): Promise<{ url: string; token: string }> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  for await (const line of lines) {
    const [, url, token] = LINK.exec(line) ?? [];
    if (url === undefined || token === undefined) continue;
    return { url, token };
  }
  throw new Error("npm start ended before it said where it listens");
}

/** The page itself, and rows for it. */
async function shows(url: string, token: string, untilMs: number): Promise<void> {
  const page = await fetch(url);
  if (!page.ok || !(await page.text()).includes('id="app"')) throw new Error(`no console at ${url}`);
  for (;;) {
    const rows = await fetch(`${url}/snap/processes`, { headers: { authorization: `Bearer ${token}` } });
    const { items = [] } = (await rows.json()) as { items?: readonly unknown[] };
    if (items.length > 0) return;
    if (performance.now() > untilMs) throw new Error("the console has nothing to show");
    await sleep(POLL_MS);
  }
}
