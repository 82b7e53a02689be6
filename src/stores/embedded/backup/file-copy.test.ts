/** Both ways to copy a file give a file that holds the same, whatever is written meanwhile. */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Connection } from "../sqlite.js";
import { type CopyTarget, copyAtOnce, copyFile, copyPages } from "./file-copy.js";

let folder: string;
let source: Connection;
const opened: Connection[] = [];
const files: number[] = [];

function open(name: string): Connection {
  const connection = new Connection(join(folder, name), { busyTimeoutMs: 1_000 });
  opened.push(connection);
  return connection;
}

function target(name: string): CopyTarget {
  const path = join(folder, name);
  const file = openSync(path, "wx+");
  files.push(file);
  return { path, file };
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-copy-"));
  source = open("source.db");
  source.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER PRIMARY KEY, bytes BLOB)");
  // Some thousand pages: several stretches, part of them in the file beside it alone.
  source.exec(
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000) INSERT INTO t SELECT n, zeroblob(4000) FROM c",
  );
  source.exec("CREATE INDEX i ON t (length(bytes), n); DELETE FROM t WHERE n % 7 = 0");
});
afterEach(() => {
  for (const connection of opened.splice(0)) connection.close();
  for (const file of files.splice(0)) closeSync(file);
  rmSync(folder, { recursive: true });
});

describe("a copy of the file", () => {
  it.each([
    ["page by page", copyPages],
    ["at once", copyAtOnce],
    ["as this engine can", copyFile],
  ])("holds what the file holds, %s", (_, copy) => {
    copy(source, target("copy.db"), () => false);
    const made = open("copy.db");
    expect(made.pragma("integrity_check")).toBe("ok");
    const sums = "SELECT count(*), sum(n), (SELECT sql FROM sqlite_master WHERE name = 'i') FROM t";
    expect(made.prepare(sums).get()).toEqual(source.prepare(sums).get());
  });

  it("is given up between two stretches, and the file can be copied again", () => {
    let asked = 0;
    expect(() => copyPages(source, target("copy.db"), () => ++asked > 2)).toThrow(
      expect.objectContaining({ code: "ABORTED" }),
    );
    expect([asked, source.inTransaction]).toEqual([3, false]);
    copyPages(source, target("again.db"), () => false);
    expect(open("again.db").pragma("integrity_check")).toBe("ok");
  });

  it("says that a file cannot be written", () => {
    const path = join(folder, "read-only.db.partial");
    writeFileSync(path, "");
    const file = openSync(path, "r");
    // By the name that whoever asked for the copy has given it.
    const message = expect.stringContaining("read-only.db cannot be written");
    expect(() => copyPages(source, { path, file }, () => false)).toThrow(
      expect.objectContaining({ code: "STORE_UNAVAILABLE", message }),
    );
    closeSync(file);
    expect(source.inTransaction).toBe(false);
  });
});
