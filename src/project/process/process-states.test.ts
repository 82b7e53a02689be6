import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Emission,
  type Home,
  isAtHome,
  type KnownProcesses,
  type ProjectorEvent,
  step,
} from "./process-states.js";
import type { ProcessState } from "./process-topics.js";

const POLICY = {
  staleAfterMs: 15_000,
  forgetAfterMs: 60_000,
  refreshMs: 10_000,
  cpuChangePct: 2,
  memoryChangePct: 5,
};
const home: Home = { partition: 0, epoch: 1 };
const processId = "h:stt:7";

/** A projector's memory, with one process and a clock in the caller's hand. */
function memory() {
  const known: KnownProcesses = new Map();
  let beats = 0;
  const take = (event: ProjectorEvent): Emission[] => step(known, event, POLICY);
  return {
    known,
    take,
    beat(
      nowMs: number,
      values: { cpu?: number; mem?: number; ts?: number; repeated?: boolean; home?: Home } = {},
    ) {
      const { cpu = 10, mem = 100, ts = nowMs, repeated = false } = values;
      return take({
        type: "heartbeat",
        id: `beat-${++beats}`,
        ts,
        heartbeat: { pid: 7, name: "stt", host: "h", cpu_pct: cpu, mem_mb: mem },
        repeated,
        home: values.home ?? home,
        nowMs,
      });
    },
    look: (nowMs: number, homes: readonly Home[] = [home]) => take({ type: "looked", homes, nowMs }),
    recall: (state: ProcessState, nowMs: number) =>
      take({ type: "recalled", state, heartbeatId: "recalled", home, nowMs }),
  };
}

const state = (more: Partial<ProcessState> = {}): ProcessState => ({
  processId,
  pid: 7,
  name: "stt",
  host: "h",
  cpu_pct: 10,
  mem_mb: 100,
  last_seen_ts: 0,
  status: "alive",
  ...more,
});

describe("a process that sends heartbeats", () => {
  it("is told of at once, with all that the heartbeat says", () => {
    expect(memory().beat(5)).toEqual([
      { processId, heartbeatId: "beat-1", because: "heartbeat", state: state({ last_seen_ts: 5 }) },
    ]);
  });

  it("is not told of again while nothing changes", () => {
    const { beat } = memory();
    beat(0);
    expect(beat(2_000)).toEqual([]);
    expect(beat(4_000, { cpu: 11.9, mem: 104.9 })).toEqual([]);
  });

  it.each([
    ["cpu rises", { cpu: 12 }],
    ["cpu falls", { cpu: 8 }],
    ["memory grows", { mem: 105 }],
    ["memory shrinks", { mem: 95 }],
  ])("is told of again when its %s noticeably", (_, change) => {
    const { beat } = memory();
    beat(0);
    expect(beat(1, change)).toHaveLength(1);
    expect(beat(2, change)).toEqual([]);
  });

  it("is measured against what was told, so that slow changes are told too", () => {
    const { beat } = memory();
    const told = Array.from({ length: 9 }, (_, i) => beat(i, { cpu: 10 + i * 0.5 }).length);
    expect(told).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 1]);
  });

  it("is told of every refreshMs although nothing changes", () => {
    const { beat } = memory();
    const told = Array.from({ length: 13 }, (_, i) => beat(i * 2_000).length);
    expect(told).toEqual([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
  });
});

describe("a process that falls silent", () => {
  it("is stale after staleAfterMs, once", () => {
    const { beat, look } = memory();
    beat(0);
    beat(1_000);
    expect(look(15_999)).toEqual([]);
    expect(look(16_000)).toEqual([
      {
        processId,
        heartbeatId: "beat-2",
        because: "silence",
        state: state({ last_seen_ts: 1_000, status: "stale" }),
      },
    ]);
    expect(look(17_000)).toEqual([]);
  });

  it("is alive again with the next heartbeat", () => {
    const { beat, look } = memory();
    beat(0);
    look(20_000);
    expect(beat(20_001)).toMatchObject([{ because: "heartbeat", state: { status: "alive" } }]);
    expect(look(35_001)).toMatchObject([{ because: "silence", heartbeatId: "beat-2" }]);
  });

  it("is not stale because its clock is wrong", () => {
    const { beat, look } = memory();
    beat(100_000, { ts: 5 });
    expect(look(100_001)).toEqual([]);
    beat(102_000, { ts: 900_000_000 });
    expect(look(117_000)).toMatchObject([{ because: "silence" }]);
  });

  it("is forgotten after forgetAfterMs, and the farewell is repeated until it was said", () => {
    const { beat, look, take, known } = memory();
    beat(0);
    look(15_000);
    expect(look(59_999)).toEqual([]);
    const farewell = [{ processId, heartbeatId: "beat-1", because: "forgotten", state: null }];
    expect(look(60_000)).toEqual(farewell);
    expect(look(61_500)).toEqual(farewell);
    take({ type: "forgotten", processId, heartbeatId: "beat-1" });
    expect(known.size).toBe(0);
    expect(look(63_000)).toEqual([]);
  });

  it("is not forgotten when a heartbeat comes between the farewell and its confirmation", () => {
    const { beat, look, take, known } = memory();
    beat(0);
    look(15_000);
    look(60_000);
    expect(beat(60_001)).toMatchObject([{ because: "heartbeat" }]);
    take({ type: "forgotten", processId, heartbeatId: "beat-1" });
    expect(known.has(processId)).toBe(true);
  });
});

describe("what could not be said", () => {
  it("is said with the next heartbeat", () => {
    const { beat, take } = memory();
    beat(0);
    take({ type: "unsaid", processId });
    expect(beat(1)).toHaveLength(1);
  });

  it("is said with the next look", () => {
    const { beat, look, take } = memory();
    beat(0);
    const [first] = look(15_000);
    take({ type: "unsaid", processId });
    expect(look(16_500)).toEqual([first]);
  });
});

describe("memory that comes back from the topic", () => {
  it("P9: says nothing that was said before", () => {
    const { recall, beat } = memory();
    recall(state({ last_seen_ts: 40 }), 1_000);
    expect(beat(1_001)).toEqual([]);
  });

  it("counts as heard when it was recalled", () => {
    const { recall, look } = memory();
    recall(state(), 100_000);
    expect(look(114_999)).toEqual([]);
    expect(look(115_000)).toMatchObject([{ heartbeatId: "recalled", state: { status: "stale" } }]);
  });

  it("knows that a process is stale", () => {
    const { recall, look, beat } = memory();
    recall(state({ status: "stale" }), 0);
    expect(look(20_000)).toEqual([]);
    expect(beat(20_001)).toMatchObject([{ state: { status: "alive" } }]);
  });

  it("does not replace what was heard since", () => {
    const { recall, beat } = memory();
    beat(0, { cpu: 50 });
    recall(state(), 1);
    expect(beat(2, { cpu: 50 })).toEqual([]);
  });

  it("P9: an old heartbeat that comes again does not undo a newer state", () => {
    const { recall, beat, look } = memory();
    recall(state({ last_seen_ts: 9_000, cpu_pct: 80 }), 10_000);
    expect(beat(11_000, { ts: 3_000, cpu: 5, repeated: true })).toEqual([]);
    expect(look(25_000)).toEqual([]);
    expect(look(26_000)).toMatchObject([{ heartbeatId: "recalled", state: { cpu_pct: 80 } }]);
  });
});

describe("processes whose partition is in other hands", () => {
  const next: Home = { partition: 0, epoch: 2 };

  it("are not judged here", () => {
    const { beat, look, known } = memory();
    beat(0);
    expect(look(20_000, [{ partition: 1, epoch: 1 }, next])).toEqual([]);
    expect(known.size).toBe(0);
  });

  it("are to be recalled when they come back under a new epoch", () => {
    const { beat, known } = memory();
    beat(0);
    expect(isAtHome(known, processId, home)).toBe(true);
    expect(isAtHome(known, processId, next)).toBe(false);
    beat(1, { home: next });
    expect(isAtHome(known, processId, next)).toBe(true);
  });
});

describe("over any schedule", () => {
  const action = fc.oneof(
    { weight: 4, arbitrary: fc.record({ beat: fc.double({ min: 0, max: 100, noNaN: true }) }) },
    { weight: 3, arbitrary: fc.constant("look" as const) },
    { weight: 1, arbitrary: fc.constant("unsaid" as const) },
  );

  it("the last thing said is true within one look, and never said twice in a row", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 9_000 }), action), { maxLength: 60 }),
        (plan) => {
          const { beat, look, take } = memory();
          let nowMs = 0;
          let heardMs = Number.NEGATIVE_INFINITY;
          let said: ProcessState | null = null;
          for (const [waitMs, what] of plan) {
            nowMs += waitMs;
            let emissions: Emission[] = [];
            if (what === "look") emissions = look(nowMs);
            else if (what === "unsaid") take({ type: "unsaid", processId });
            else {
              emissions = beat(nowMs, { cpu: what.beat });
              heardMs = nowMs;
            }
            for (const emission of emissions) {
              expect(emission.state?.status === "stale").toBe(emission.because === "silence");
              said = emission.state;
              if (said === null) take({ type: "forgotten", processId, heartbeatId: emission.heartbeatId });
            }
            const silentMs = nowMs - heardMs;
            if (what !== "unsaid" && silentMs < POLICY.staleAfterMs && said !== null) {
              expect(said.status).toBe("alive");
            }
            if (what === "look" && silentMs >= POLICY.staleAfterMs)
              expect(said?.status ?? "stale").toBe("stale");
          }
        },
      ),
    );
  });
});
