import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../../model/clock.js";
import { ID_BYTES, uuidIndexKey, writeUuid } from "../../id-key.js";
import { prepareSchema } from "../schema.js";
import { Connection } from "../sqlite.js";
import { FiledIds } from "./filed-ids.js";

let folder: string;
let connection: Connection;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-filed-ids-"));
  connection = new Connection(join(folder, "bus.db"), { busyTimeoutMs: 1_000 });
  prepareSchema(connection);
});
afterEach(() => {
  connection.close();
  rmSync(folder, { recursive: true, force: true });
});

function uuids(count: number): Buffer {
  const ids = Buffer.alloc(count * ID_BYTES);
  for (let i = 0; i < count; i++) writeUuid(systemClock.newId(), ids, i * ID_BYTES);
  return ids;
}

function entryOf(ids: Buffer, i: number): unknown {
  return connection.sql("SELECT part, seq FROM filed_id WHERE id = ?").get(uuidIndexKey(ids, i * ID_BYTES));
}

it("P3: every filed id leads to its place, in whatever order they came and however many there are", () => {
  const count = 3_000;
  const ids = uuids(count);
  const filed = new FiledIds();
  // Backwards, and some twice.
  for (let i = count - 1; i >= 0; i--) filed.add(ids, i * ID_BYTES, i % 7, i + 1);
  for (let i = 0; i < count; i += 500) filed.add(ids, i * ID_BYTES, i % 7, i + 1);
  filed.flush(connection);
  for (let i = 0; i < count; i++) expect(entryOf(ids, i)).toEqual([i % 7, i + 1]);
  expect(connection.sql("SELECT count(*) FROM filed_id").get()).toEqual([count]);
});

it("P3: places beyond what a number can tell exactly are kept exactly", () => {
  const ids = uuids(2);
  const filed = new FiledIds();
  filed.add(ids, 0, 8_000_001, 2 ** 40 - 1);
  filed.add(ids, ID_BYTES, 8_192, 3);
  filed.flush(connection);
  expect(entryOf(ids, 0)).toEqual([8_000_001, 2 ** 40 - 1]);
  expect(entryOf(ids, 1)).toEqual([8_192, 3]);
});

it("what was noted and forgotten is not written, nor is anything written twice", () => {
  const ids = uuids(3);
  const filed = new FiledIds();
  filed.add(ids, 0, 1, 1);
  filed.forget();
  filed.add(ids, ID_BYTES, 1, 2);
  filed.flush(connection);
  connection.exec("DELETE FROM filed_id");
  filed.flush(connection);
  expect(connection.sql("SELECT count(*) FROM filed_id").get()).toEqual([0]);
});
