import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { JsonBody } from "../../../model/json.js";
import { Leaf } from "../../batch-encoder.js";
import { packWrites } from "../documents/document-message.js";
import type { ArgumentOf, OperationName, Reply, Request } from "../protocol.js";
import { Connection } from "../sqlite.js";
import { WriteEngine } from "./write-engine.js";

describe("a group of writes", () => {
  let folder: string;
  let path: string;
  let engine: WriteEngine;
  let number = 0;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "promethean-engine-"));
    path = join(folder, "bus.db");
    engine = new WriteEngine({
      path,
      durability: "sync",
      busyTimeoutMs: 50,
      maxBytes: undefined,
      exclusive: false,
      pollMs: 20,
    });
    run(request("defineTopic", { config: { name: "t", partitions: 2 }, ifAbsent: false }));
  });
  afterEach(() => {
    engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function request<K extends OperationName>(name: K, argument: ArgumentOf<K>): Request {
    return { number: ++number, name, argument };
  }

  function append(partition: number, ids: readonly string[]): Request {
    const drafts = ids.map((id) => ({
      id,
      ts: 1,
      key: undefined,
      meta: undefined,
      body: JsonBody.ofText("1"),
      freshId: false,
    }));
    const encoded = new Leaf().encode(drafts);
    return request("append", { topic: "t", partition, ...encoded, check: "all", fence: undefined });
  }

  const run = (...requests: Request[]): Reply[] => engine.run(requests).replies;

  function sqlite<T>(work: (connection: Connection) => T): T {
    const connection = new Connection(path, { busyTimeoutMs: 0 });
    try {
      return work(connection);
    } finally {
      connection.close();
    }
  }

  it("P1: is one transaction, answered in order", () => {
    const commits = sqlite((connection) => {
      const version = (): unknown => connection.sql("PRAGMA data_version").get()?.[0];
      const before = version();
      const replies = run(append(0, ["a", "b"]), append(1, ["c"]), append(0, ["d"]));
      expect(replies.map((reply) => "answer" in reply && reply.answer)).toMatchObject([
        { firstSeq: 1 },
        { firstSeq: 1 },
        { firstSeq: 3 },
      ]);
      return Number(version()) - Number(before);
    });
    expect(commits).toBe(1);
  });

  it("a request that fails is undone alone", () => {
    const replies = run(
      append(0, ["a"]),
      request("putToken", { name: "x", value: "1", expected: 7 }),
      request("append", { ...(append(5, ["z"]).argument as ArgumentOf<"append">) }),
      append(0, ["b", "a"]),
    );
    expect(replies.map((reply) => ("error" in reply ? reply.error.code : "ok"))).toEqual([
      "ok",
      "WRITE_CONFLICT",
      "NOT_FOUND",
      "ok",
    ]);
    expect(replies[3]).toMatchObject({ answer: { firstSeq: 2, duplicates: [{ index: 1 }] } });
    expect(run(append(0, ["c"]))).toMatchObject([{ answer: { firstSeq: 3 } }]);
  });

  it("an append that fails halfway is undone alone, and leaves nothing behind", () => {
    sqlite((other) =>
      other.exec(
        `CREATE TRIGGER halfway BEFORE INSERT ON part WHEN NEW.events >= 3
         BEGIN SELECT RAISE(ABORT, 'not today'); END`,
      ),
    );
    const replies = run(
      append(1, ["a"]),
      append(0, ["x", "y", "z"]),
      append(0, ["b"]),
      append(1, ["a", "c"]),
    );
    expect(replies.map((reply) => ("error" in reply ? reply.error.code : reply.answer))).toMatchObject([
      { firstSeq: 1 },
      "INTERNAL",
      { firstSeq: 1 },
      { firstSeq: 2, duplicates: [{ index: 0, event: { seq: 1 } }] },
    ]);
    sqlite((other) => {
      other.exec("DROP TRIGGER halfway");
      expect(other.sql("SELECT sum(count) FROM batch").get()).toEqual([3]);
    });
    expect(run(append(0, ["x"]))).toMatchObject([{ answer: { firstSeq: 2 } }]);
  });

  it("P9: half of a unit is never left behind", () => {
    const write = { op: "upsert" as const, ts: 1, fields: {} };
    const writes = [
      { ...write, key: "a" },
      { ...write, key: "b", expected: 3 },
    ];
    const replies = run(
      request("writeDocuments", { parts: [packWrites("v", writes)], cursor: undefined }),
      append(0, ["a"]),
    );
    expect(replies.map((reply) => ("error" in reply ? reply.error.code : "ok"))).toEqual([
      "WRITE_CONFLICT",
      "ok",
    ]);
    expect(sqlite((connection) => connection.sql("SELECT count(*) FROM view").get())).toEqual([0]);
  });

  it("a locked file fails the whole group with STORE_LOCKED, and the next group goes through", () => {
    sqlite((other) => {
      other.exec("BEGIN IMMEDIATE");
      const replies = run(append(0, ["a"]), append(0, ["b"]));
      expect(replies.map((reply) => "error" in reply && reply.error.code)).toEqual([
        "STORE_LOCKED",
        "STORE_LOCKED",
      ]);
      other.exec("ROLLBACK");
    });
    expect(run(append(0, ["a"]))).toMatchObject([{ answer: { firstSeq: 1 } }]);
  });

  it("P2: what another process wrote in between is seen before the next seq is given", () => {
    expect(engine.run([append(0, ["a"])]).foreign).toBe(false);
    const other = new WriteEngine({
      path,
      durability: "sync",
      busyTimeoutMs: 50,
      maxBytes: undefined,
      exclusive: false,
      pollMs: 20,
    });
    other.run([append(0, ["b"])]);
    expect(engine.checkOthers()).toBe(true);
    expect(engine.checkOthers()).toBe(false);
    other.run([append(0, ["c", "d"])]);
    const { replies, foreign } = engine.run([append(0, ["e", "c"])]);
    expect(foreign).toBe(true);
    expect(replies).toMatchObject([
      { answer: { firstSeq: 5, duplicates: [{ index: 1, event: { seq: 3 } }] } },
    ]);
    other.close();
  });

  it("P1: waits for the disk unless it was told not to", () => {
    const level = (durability: "sync" | "os"): unknown => {
      const one = new WriteEngine({
        path: join(folder, `${durability}.db`),
        durability,
        busyTimeoutMs: 50,
        maxBytes: undefined,
        exclusive: false,
        pollMs: 20,
      });
      const synchronous = one.setting("synchronous");
      one.close();
      return synchronous;
    };
    // 2 is FULL: the commit is synced before it returns. 1 is NORMAL: only checkpoints are.
    expect([level("sync"), level("os")]).toEqual([2, 1]);
  });
});
