import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ProcReader, processReader, readPs } from "./process-reader.js";

const nobody: ReadonlySet<number> = new Set();

describe("the processes of this machine", () => {
  it("hold this very process, with its memory", async () => {
    const mine = (await processReader().read(nobody)).find(({ pid }) => pid === process.pid);
    expect(mine?.name).not.toBe("");
    const mb = process.memoryUsage.rss() / 1_048_576;
    expect(mine?.mem_mb).toBeGreaterThan(mb / 2);
    expect(mine?.mem_mb).toBeLessThan(mb * 2);
  });

  it("are much the same for ps", async () => {
    const mine = (await readPs()).find(({ pid }) => pid === process.pid);
    const mb = process.memoryUsage.rss() / 1_048_576;
    expect(mine?.mem_mb).toBeGreaterThan(mb / 2);
    expect(mine?.mem_mb).toBeLessThan(mb * 2);
  });
});

describe("a folder like /proc", () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "proc-"));
    write("self/auxv", new BigUint64Array([6n, 4_096n, 17n, 100n, 0n, 0n]));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function write(path: string, content: string | BigUint64Array): void {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), content);
  }

  /** A machine that has been up for `upSeconds`, with a process that has been busy for `busyTicks`. */
  function running(upSeconds: number, pid: number, busyTicks: number, startTicks = 1_000, pages = 256): void {
    const fields = ["S", ...Array(10).fill(0), busyTicks - 1, 1, ...Array(6).fill(0), startTicks];
    write(`${pid}/stat`, `${pid} (worker) ${fields.join(" ")}`);
    write(`${pid}/statm`, `9999 ${pages} 0 0 0 0 0`);
    write("uptime", `${upSeconds}.00 0.00`);
  }

  it("gives cpu since the start at first, and since the last look from then on", async () => {
    const reader = new ProcReader(root);
    running(110, 7, 5_000);
    expect(await reader.read(nobody)).toEqual([{ pid: 7, name: "worker", cpu_pct: 50, mem_mb: 1 }]);
    running(112, 7, 5_040);
    expect(await reader.read(nobody)).toEqual([{ pid: 7, name: "worker", cpu_pct: 20, mem_mb: 1 }]);
  });

  it("does not mix two processes that had the same pid", async () => {
    const reader = new ProcReader(root);
    running(110, 7, 5_000);
    await reader.read(nobody);
    running(120, 7, 100, 11_800);
    expect(await reader.read(nobody)).toMatchObject([{ pid: 7, cpu_pct: 50 }]);
  });

  it("passes over threads of the kernel and what ended meanwhile", async () => {
    const reader = new ProcReader(root);
    running(110, 7, 5_000);
    running(110, 8, 5_000, 1_000, 0);
    mkdirSync(join(root, "9"));
    write("10/statm", "1 1");
    write("10/stat", "torn");
    expect((await reader.read(nobody)).map(({ pid }) => pid)).toEqual([7]);
  });

  it("is read in slices, so that the event loop keeps its turns", async () => {
    const reader = new ProcReader(root);
    for (let pid = 1; pid <= 60; pid++) running(110, pid, 100);
    let turns = 0;
    const count = (): void => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    expect(await reader.read(nobody)).toHaveLength(60);
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(2);
  });
});
