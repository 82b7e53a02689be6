import { describe, expect, it } from "vitest";
import {
  parseAuxv,
  parseProcStat,
  parseProcStatm,
  parsePs,
  parseUptime,
  USUAL_UNITS,
} from "./process-files.js";

const AFTER_NAME =
  "S 1 22550 18523 0 -1 4194304 101 0 0 0 700 50 0 0 20 0 1 0 278550 3133440 412 18446744073709551615 1 1 0";

describe("/proc/<pid>/stat", () => {
  it("gives pid, name, ticks on a processor and start", () => {
    expect(parseProcStat(`22552 (cat) ${AFTER_NAME}\n`)).toEqual({
      pid: 22552,
      name: "cat",
      busyTicks: 750,
      startTicks: 278550,
    });
  });

  it.each(["(sd-pam)", "node (vitest 1)", ") R 1 1 1", "a\nb", ""])("takes the name %j as it is", (name) => {
    expect(parseProcStat(`7 (${name}) ${AFTER_NAME}`)).toMatchObject({ pid: 7, name, busyTicks: 750 });
  });

  it.each(["", "7", "7 (cat", "x (cat) S 1", "7 (cat) S 1 2 3"])("refuses %j", (text) => {
    expect(parseProcStat(text)).toBeUndefined();
  });
});

describe("the other files of /proc", () => {
  it("give resident pages and uptime", () => {
    expect(parseProcStatm("765 440 412 5 0 123 0\n")).toBe(440);
    expect(parseProcStatm("0 0 0 0 0 0 0\n")).toBe(0);
    expect(parseUptime("2785.50 4219.06\n")).toBe(2785.5);
  });

  it("are refused when they are something else", () => {
    expect(parseProcStatm("")).toBeUndefined();
    expect(parseProcStatm("a b")).toBeUndefined();
    expect(parseUptime("")).toBeUndefined();
  });

  it("give the machine's page size and ticks", () => {
    const pairs = [33n, 140n, 6n, 16_384n, 17n, 250n, 0n, 0n];
    const bytes = new Uint8Array(new BigUint64Array(pairs).buffer);
    expect(parseAuxv(bytes)).toEqual({ pageBytes: 16_384, ticksPerSecond: 250 });
    expect(parseAuxv(new Uint8Array(5))).toEqual(USUAL_UNITS);
  });
});

describe("ps", () => {
  it("gives pid, cpu, memory and the last part of the command's path", () => {
    const text = [
      "    1   0.0  19944 process_api",
      "  812  12,5    512 /Applications/Some App.app/Contents/MacOS/Some App",
      "99999 100.0 123456 node (vitest 1)  ",
      "  PID  %CPU    RSS COMM",
      "",
    ].join("\n");
    expect(parsePs(text)).toEqual([
      { pid: 1, cpuPct: 0, residentKb: 19_944, name: "process_api" },
      { pid: 812, cpuPct: 12.5, residentKb: 512, name: "Some App" },
      { pid: 99_999, cpuPct: 100, residentKb: 123_456, name: "node (vitest 1)" },
    ]);
  });
});
