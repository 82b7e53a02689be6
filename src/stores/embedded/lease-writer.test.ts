import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Cursor, type Epoch, START_CURSOR } from "../../ports/groups.js";
import { cursorText } from "./groups.js";
import type { ArgumentOf, OperationName, Reply, Request } from "./protocol.js";
import { Connection } from "./sqlite.js";
import { WriteEngine } from "./threads/write-engine.js";

const PARTITIONS = 20;
const OPTIONS = {
  durability: "os",
  busyTimeoutMs: 1_000,
  maxBytes: undefined,
  pollMs: 20,
  exclusive: false,
} as const;
const GROUP = { topic: "t", group: "g" };

describe("cursors that are committed in one group of requests", () => {
  let folder: string;
  let engines: WriteEngine[];
  let connection: Connection;
  let number = 0;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "promethean-leases-"));
    const path = join(folder, "bus.db");
    engines = [new WriteEngine({ ...OPTIONS, path }), new WriteEngine({ ...OPTIONS, path })];
    connection = new Connection(path, { busyTimeoutMs: 1_000 });
    const floors = new Array<number>(PARTITIONS).fill(0);
    run(0, request("start", { ref: GROUP, floors }));
    for (let partition = 0; partition < PARTITIONS; partition++) run(0, claim(partition));
  });
  afterEach(() => {
    connection.close();
    for (const engine of engines) engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function request<K extends OperationName>(name: K, argument: ArgumentOf<K>): Request {
    return { number: ++number, name, argument };
  }

  const run = (by: number, ...requests: Request[]): Reply[] =>
    (engines[by] as WriteEngine).run(requests).replies;

  const claim = (partition: number, member = "m"): Request =>
    request("claim", { ref: { ...GROUP, partition }, member, nowMs: 0 });

  function cursorAt(floor: number): Cursor {
    return { ...START_CURSOR, floor, mark: floor };
  }

  function settle(name: "commit" | "release", partition: number, floor: number, epoch: Epoch = 1): Request {
    return request(name, cursorText({ ...GROUP, partition }, epoch, cursorAt(floor)));
  }

  const commit = (partition: number, floor: number, epoch?: Epoch): Request =>
    settle("commit", partition, floor, epoch);

  /** "ok" or the code of its error, for each. */
  const outcomes = (replies: readonly Reply[]): string[] =>
    replies.map((reply) => ("error" in reply ? reply.error.code : "ok"));

  function floorOf(partition: number): number {
    const row = connection.sql("SELECT cursor FROM lease WHERE partition = ?").get<[string]>(partition);
    return (JSON.parse(row?.[0] ?? "{}") as Cursor).floor;
  }

  it("are all stored, however many they are, each the newest of its partition", () => {
    const all = Array.from({ length: PARTITIONS }, (_, partition) => partition);
    const first = all.map((partition) => commit(partition, 10 + partition));
    expect(outcomes(run(0, ...first, commit(3, 99)))).toEqual(new Array(PARTITIONS + 1).fill("ok"));
    expect(all.map(floorOf)).toEqual(all.map((partition) => (partition === 3 ? 99 : 10 + partition)));
  });

  it("P7: are answered each for itself: one under another epoch is refused and changes nothing", () => {
    const replies = run(0, commit(0, 5), commit(1, 5, 2), commit(2, 5, 0), commit(3, 5));
    expect(outcomes(replies)).toEqual(["ok", "LEASE_LOST", "LEASE_LOST", "ok"]);
    expect([0, 1, 2, 3].map(floorOf)).toEqual([5, 0, 0, 5]);
    // Also where the holder's own were seen before.
    expect(outcomes(run(0, commit(0, 6, 2), commit(0, 7, 0), commit(0, 8)))).toEqual([
      "LEASE_LOST",
      "LEASE_LOST",
      "ok",
    ]);
    run(0, commit(0, 9, 2));
    expect(floorOf(0)).toBe(8);
  });

  it("P7: are refused behind a claim, a release, a move or a removal in the same group", () => {
    const ref = { ...GROUP, partition: 2 };
    const move = request("move", { ref, cursor: JSON.stringify(cursorAt(1)) });
    const replies = run(
      0,
      ...[commit(0, 3), claim(0), commit(0, 4), commit(0, 5, 2)],
      ...[commit(1, 3), settle("release", 1, 4), commit(1, 5)],
      ...[commit(2, 3), move, commit(2, 4), commit(2, 4, 2)],
    );
    expect(outcomes(replies).filter((outcome) => outcome !== "ok")).toEqual(new Array(4).fill("LEASE_LOST"));
    expect([0, 1, 2].map(floorOf)).toEqual([5, 4, 1]);
    const removal = run(0, commit(3, 3), request("removeGroup", { ref: GROUP }), commit(3, 4));
    expect(outcomes(removal)).toEqual(["ok", "ok", "LEASE_LOST"]);
  });

  it("P7: are refused once another process has taken the partition", () => {
    run(0, commit(0, 3), commit(1, 3));
    expect(outcomes(run(1, claim(0, "other"), commit(0, 7, 2)))).toEqual(["ok", "ok"]);
    expect(outcomes(run(0, commit(0, 9), commit(1, 9)))).toEqual(["LEASE_LOST", "ok"]);
    expect([0, 1].map(floorOf)).toEqual([7, 9]);
  });

  it("never move a floor back under one epoch, in one group or later, and a move of the cursor does", () => {
    expect(outcomes(run(0, commit(0, 8), commit(0, 5)))).toEqual(["ok", "ok"]);
    expect(floorOf(0)).toBe(8);
    expect(outcomes(run(0, commit(0, 7)))).toEqual(["ok"]);
    expect(floorOf(0)).toBe(8);
    run(0, request("move", { ref: { ...GROUP, partition: 0 }, cursor: JSON.stringify(cursorAt(2)) }));
    run(0, claim(0));
    expect(outcomes(run(0, commit(0, 3, 3)))).toEqual(["ok"]);
    expect(floorOf(0)).toBe(3);
  });

  it("stay when another request of the group is undone", () => {
    const conflict = request("putToken", { name: "n", value: "v", expected: 7 });
    const replies = run(0, commit(0, 4), conflict, commit(1, 4), conflict, commit(0, 6));
    expect(outcomes(replies)).toEqual(["ok", "WRITE_CONFLICT", "ok", "WRITE_CONFLICT", "ok"]);
    expect([0, 1].map(floorOf)).toEqual([6, 4]);
  });

  it("are forgotten with a group that was undone, and can be committed again", () => {
    connection.exec(
      "CREATE TRIGGER refused BEFORE UPDATE ON lease WHEN NEW.partition = 1 BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    const [first, second] = run(0, commit(0, 4), commit(1, 4));
    expect([first && "error" in first, second && "error" in second]).toEqual([false, true]);
    connection.exec("DROP TRIGGER refused");
    expect(outcomes(run(0, commit(0, 3), commit(1, 2)))).toEqual(["ok", "ok"]);
    expect([0, 1].map(floorOf)).toEqual([4, 2]);
  });

  it("P5: are what the next owner gets", () => {
    const [, , reply] = run(0, commit(0, 4), settle("release", 0, 6), claim(0, "next"));
    expect(reply).toMatchObject({ answer: { epoch: 2, clean: true } });
    const { cursor } = (reply as { answer: { cursor: string } }).answer;
    expect(JSON.parse(cursor)).toMatchObject({ floor: 6 });
  });

  it("P13: sessions that ran out are kept for an hour, in which their members may go on, and then forgotten", () => {
    const startMs = Date.now();
    const open = (member: string, nowMs: number): Request => {
      const session = { member, host: "h", pid: 1, processStart: "0" };
      return request("openSession", { session, process: null, nowMs, ttlMs: 10 });
    };
    const beats = (member: string, nowMs: number): Reply[] =>
      run(0, request("beat", { member, nowMs, ttlMs: 10 }));
    run(0, open("silent", startMs), open("frozen", startMs), open("next", startMs + 3_600_000));
    expect(beats("frozen", startMs + 3_600_000)).toMatchObject([{ answer: true }]);
    run(0, open("last", startMs + 3_600_011));
    expect(beats("silent", startMs + 3_600_011)).toMatchObject([{ answer: false }]);
    expect(beats("frozen", startMs + 3_600_011)).toMatchObject([{ answer: true }]);
  });
});
