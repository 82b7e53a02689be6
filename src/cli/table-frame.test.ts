import pc from "picocolors";
import { describe, expect, it } from "vitest";
import type { ProcessState } from "../project/process/process-topics.js";
import { ProcessRows } from "./process-rows.js";
import { plainLine, summaryLine, tableFrame } from "./table-frame.js";
import { textWidth } from "./text-width.js";

const NOW_MS = 1_700_000_000_000;
const plain = pc.createColors(false);
const figures = {
  published: 1_440,
  delivered: 1_200,
  lag: 3,
  uptimeMs: 72_000,
  store: "memory",
  trouble: undefined,
};

function state(pid: number, more: Partial<ProcessState> = {}): ProcessState {
  const [name, host] = [more.name ?? "node", more.host ?? "vm"];
  return {
    processId: `${host}:${name}:${pid}`,
    pid,
    name,
    host,
    cpu_pct: 10,
    mem_mb: 100,
    last_seen_ts: NOW_MS - 4_000,
    status: "alive",
    ...more,
  };
}

const frame = (states: readonly ProcessState[], columns: number, lines: number, more = {}) =>
  tableFrame(states, { ...figures, ...more }, { columns, lines }, NOW_MS, plain);

describe("the table", () => {
  it("shows figures and processes", () => {
    const states = [
      state(20_305, { cpu_pct: 50, mem_mb: 368.2 }),
      state(7, { name: "stt", status: "stale" }),
    ];
    expect(frame(states, 80, 24)).toEqual([
      "Promethean: 2 processes, 1 stale                                   up 1 min 12 s",
      "1,440 events published, 1,200 delivered, lag 3; memory",
      "",
      "PROCESS                    PID   CPU %                    MEMORY  STATUS    SEEN",
      "node                     20305    50.0  ██████▌           368 MB  alive      4 s",
      "stt                          7    10.0  █▎                100 MB  stale      4 s",
    ]);
  });

  it("fits every terminal, whatever the processes are called", () => {
    const names = ["x", "a-rather-long-name-for-a-process", "日本語のとても長い名前です", "\x1b[2Jevil", ""];
    const states = names.flatMap((name, i) =>
      Array.from({ length: 9 }, (_, j) => state(i * 10 + j, { name })),
    );
    for (const columns of [1, 5, 16, 20, 33, 40, 60, 79, 80, 84, 100, 160, 300]) {
      for (const lines of [1, 2, 3, 4, 5, 6, 24, 50]) {
        const drawn = frame(states, columns, lines, { trouble: "the store is away\nfor a while" });
        expect(drawn.length).toBeLessThanOrEqual(lines);
        expect(Math.max(...drawn.map(textWidth))).toBeLessThanOrEqual(columns);
        expect(drawn.join("")).not.toMatch(/\p{Cc}/u);
      }
    }
  });

  it("says how many processes it leaves out", () => {
    const states = Array.from({ length: 30 }, (_, i) => state(i));
    expect(frame(states, 80, 24)).toHaveLength(24);
    expect(frame(states, 80, 24).at(-1)).toBe("… and 11 more");
    expect(frame(states, 80, 34)).toHaveLength(34);
    expect(frame(states, 80, 34).at(-1)).toContain("node");
  });

  it("leaves out the least important columns first", () => {
    const titles = (columns: number) =>
      frame([state(1)], columns, 24)[3]
        ?.split(/\s+/)
        .filter(Boolean)
        .join(" ");
    expect(titles(160)).toBe("PROCESS PID CPU % MEMORY STATUS SEEN HOST");
    expect(titles(80)).toBe("PROCESS PID CPU % MEMORY STATUS SEEN");
    expect(titles(52)).toBe("PROCESS PID CPU % MEMORY STATUS");
    expect(titles(24)).toBe("PROCESS CPU %");
    expect(titles(10)).toBe("PROCESS");
  });

  it("shows trouble where there is some", () => {
    expect(frame([], 80, 24, { trouble: "disk full" })[2]).toBe("disk full");
  });

  it("has colours only if asked to", () => {
    const states = [state(1, { cpu_pct: 90 }), state(2, { status: "stale" })];
    const coloured = tableFrame(states, figures, { columns: 80, lines: 24 }, NOW_MS, pc.createColors(true));
    expect(coloured.join("")).toContain("\x1b[");
    expect(frame(states, 80, 24).join("")).not.toContain("\x1b[");
  });
});

describe("the lines for a log", () => {
  it("say it all in one line", () => {
    const states = [state(1), state(2, { status: "stale" })];
    expect(plainLine(states, figures, NOW_MS)).toBe(
      "2023-11-14T22:13:20.000Z 2 processes, 1 stale; 1,440 events published, 1,200 delivered, lag 3",
    );
    expect(plainLine([], { ...figures, trouble: "disk\nfull" }, NOW_MS)).toMatch(/lag 3; disk·full$/);
    expect(summaryLine(states, figures)).toBe(
      "Stopped after 1 min 12 s: 2 processes, 1,440 events published, 1,200 delivered, lag 3.",
    );
  });
});

describe("the rows", () => {
  it("keep the newest state of each process, busiest first and stale ones last", () => {
    const rows = new ProcessRows();
    const apply = (payload: ProcessState | null, key = payload?.processId ?? "") =>
      rows.apply({ key, payload });
    apply(state(1, { cpu_pct: 5 }));
    apply(state(2, { cpu_pct: 90, status: "stale" }));
    apply(state(3, { cpu_pct: 5, mem_mb: 900 }));
    apply(state(4));
    apply(state(1, { cpu_pct: 70 }));
    apply(null, "vm:node:4");
    expect(rows.sorted().map(({ pid }) => pid)).toEqual([1, 3, 2]);
    expect(rows.size).toBe(3);
  });
});
