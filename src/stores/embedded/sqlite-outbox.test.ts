import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BusError } from "../../model/errors.js";
import { nextTurn } from "../../model/next-turn.js";
import type { OutboxEntry } from "../../ports/outbox.js";
import { type SqliteHandle, SqliteOutbox } from "./sqlite-outbox.js";

interface Handle extends SqliteHandle {
  close(): unknown;
}

type Opener = (path: string) => Handle;

/** Every kind of handle that this Node has. */
async function openers(): Promise<[string, Opener][]> {
  const found: [string, Opener][] = [["libsql", (path) => new Database(path) as unknown as Handle]];
  const native = await import("node:sqlite" as string).catch(() => undefined);
  if (native !== undefined) found.push(["node:sqlite", (path) => new native.DatabaseSync(path) as Handle]);
  return found;
}

const entry = (id: string, o: Partial<OutboxEntry> = {}): OutboxEntry => ({
  id,
  topic: "orders.placed",
  payload: { id },
  ...o,
});
const claim = { owner: "drainer", leaseMs: 1_000, nowMs: 5_000 };

describe("SqliteOutbox", () => {
  it("says what it needs where it is given no database", () => {
    for (const none of [undefined, "app.db", {}])
      expect(() => new SqliteOutbox(none as unknown as SqliteHandle)).toThrow("needs an open database");
  });
});

describe.each(await openers())("SqliteOutbox on a handle of %s", (_, open) => {
  let folder: string;
  let db: Handle;
  let outbox: SqliteOutbox;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "promethean-outbox-"));
    db = open(join(folder, "app.db"));
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE orders (id TEXT)");
    outbox = new SqliteOutbox(db);
  });
  afterEach(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const order = (id: string): void => {
    db.prepare("INSERT INTO orders VALUES (?)").run(id);
  };
  const claimed = async (count = 100, o = claim): Promise<string[]> =>
    (await outbox.claimBatch(count, o)).map(({ id }) => id);

  it("P10: commit means the entry is there, exactly once", async () => {
    db.exec("BEGIN");
    order("a");
    void outbox.add(entry("a", { key: "k", headers: { h: "1" }, tags: ["t"], ts: 7 }), { nowMs: 1 });
    db.exec("COMMIT");
    const [got, ...others] = await outbox.claimBatch(10, claim);
    expect(others).toEqual([]);
    expect(got).toMatchObject({
      ...entry("a"),
      key: "k",
      headers: { h: "1" },
      tags: ["t"],
      ts: 7,
      failures: 0,
    });
    expect(await outbox.claimBatch(10, claim)).toEqual([]);
  });

  it("P10: rollback means it never was", async () => {
    db.exec("BEGIN");
    order("a");
    void outbox.add(entry("a"));
    db.exec("ROLLBACK");
    expect(await claimed()).toEqual([]);
    expect(await outbox.stats()).toEqual({ pending: 0, claimed: 0, sent: 0, dead: 0, oldestMs: null });
  });

  it("P10: nothing is handed out while the transaction that wrote it is open", async () => {
    db.exec("BEGIN");
    void outbox.add(entry("a"));
    expect(await claimed()).toEqual([]);
    db.exec("COMMIT");
    expect(await claimed()).toEqual(["a"]);
  });

  it("P10: a fault of add is thrown at once, so that it ends the transaction", () => {
    void outbox.add(entry("a"));
    void outbox.add(entry("a"));
    expect(() => void outbox.add(entry("a", { payload: "another" }))).toThrow(BusError);
    expect(() => void outbox.add(entry("b", { payload: () => 1 }))).toThrow("no JSON form");
  });

  it("P10: an option that it does not know is refused at once, such as the session of another outbox", () => {
    expect(() => void outbox.add(entry("a"), { session: undefined } as object)).toThrow(
      'knows no option "session"; it takes nowMs',
    );
  });

  it("is counted and listed by its indexes: the caller's event loop waits, however many entries are kept", async () => {
    const asked: string[] = [];
    const noting: SqliteHandle = {
      exec: (text) => db.exec(text),
      prepare: (text) => {
        asked.push(text);
        return db.prepare(text);
      },
    };
    const noted = new SqliteOutbox(noting);
    await noted.stats();
    for (const status of ["pending", "claimed", "dead"] as const) await noted.list({ status });
    const steps = asked.flatMap(
      (text) => db.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[],
    );
    const scans = steps
      .map(({ detail }) => detail)
      .filter((detail) => /^SCAN promethean_outbox\b/.test(detail));
    expect(scans).not.toEqual([]);
    for (const scan of scans) expect(scan).toMatch(/USING (COVERING )?INDEX/);
  });

  it("P10: order per key holds across claims, retries and dead entries", async () => {
    for (const id of ["k1", "k2", "x1", "k3"]) {
      void outbox.add(entry(id, { key: id.slice(0, 1) }), { nowMs: 1 });
    }
    const [first] = await outbox.claimBatch(1, claim);
    expect(first?.id).toBe("k1");
    expect(await claimed()).toEqual(["x1"]);
    const token = first?.token ?? "";
    expect(await outbox.markError("k1", token, { error: "no", retryAfterMs: 4_000, nowMs: 5_000 })).toBe(
      true,
    );
    expect(await outbox.markError("k1", token, "no")).toBe(false);
    expect(await claimed()).toEqual([]);
    const again = await outbox.claimBatch(100, { ...claim, nowMs: 9_000 });
    expect(again.map(({ id, failures }) => [id, failures])).toEqual([
      ["k1", 1],
      ["k2", 0],
      ["k3", 0],
    ]);
    await outbox.markError("k1", again[0]?.token ?? "", { error: "never", dead: true });
    expect(await outbox.requeueExpired(20_000)).toBe(3);
    expect(await claimed(100, { ...claim, nowMs: 20_000 })).toEqual(["x1"]);
    expect(await outbox.requeueDead()).toBe(1);
    expect(await claimed(100, { ...claim, nowMs: 20_000 })).toEqual(["k1", "k2", "k3"]);
  });

  it("P6: settles with the token of the claim alone, and purges what was sent", async () => {
    void outbox.add(entry("a"), { nowMs: 3 });
    void outbox.add(entry("b"), { nowMs: 4 });
    const [a, b] = await outbox.claimBatch(2, claim);
    expect(await outbox.markSent("a", b?.token ?? "", { nowMs: 6_000 })).toBe(false);
    expect(await outbox.markSent("a", a?.token ?? "", { nowMs: 6_000 })).toBe(true);
    expect(await outbox.stats()).toEqual({ pending: 0, claimed: 1, sent: 1, dead: 0, oldestMs: 4 });
    expect((await outbox.list({ status: "sent", limit: 5 })).map(({ id }) => id)).toEqual(["a"]);
    expect(await outbox.purge(6_000)).toBe(0);
    expect(await outbox.purge(6_001)).toBe(1);
    await outbox.markError("b", b?.token ?? "", { error: "bad", dead: true });
    expect((await outbox.list({ status: "dead", limit: 5 }))[0]).toMatchObject({ id: "b", error: "bad" });
    expect(await outbox.discardDead(["b", "none"])).toBe(1);
  });

  it("wakes after the transaction, and no more once it was told to stop", async () => {
    let woken = 0;
    const stop = outbox.watch(() => {
      woken++;
    });
    db.exec("BEGIN");
    void outbox.add(entry("a"));
    db.exec("COMMIT");
    expect(woken).toBe(0);
    await nextTurn();
    await nextTurn();
    expect(woken).toBe(1);
    stop();
    void outbox.add(entry("b"));
    await nextTurn();
    await nextTurn();
    expect(woken).toBe(1);
  });

  it("a second outbox on the same database sees the same entries", async () => {
    void outbox.add(entry("a"));
    const other = open(join(folder, "app.db"));
    const second = new SqliteOutbox(other);
    expect((await second.claimBatch(5, claim)).map(({ id }) => id)).toEqual(["a"]);
    expect(await claimed()).toEqual([]);
    other.close();
  });
});
