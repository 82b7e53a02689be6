import { chmod, mkdir, readdir, readFile, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { BusError } from "../../../src/model/errors.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
import { textIndexKey } from "../../../src/stores/id-key.js";
import { append, draft, drafts, failsWith, readAll, runProgram, TOPIC, Workplace } from "./support.js";

const work = new Workplace();
const opener = new URL("./opener.ts", import.meta.url);

/** Undoes what format 4 did. */
const ROWS_BY_PLACE = `
  CREATE TABLE by_place (
    pos INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
    max_ts INTEGER NOT NULL, run_ts INTEGER NOT NULL, min_idt INTEGER, max_idt INTEGER, indexed INTEGER NOT NULL,
    crc INTEGER NOT NULL, ids BLOB NOT NULL, data BLOB NOT NULL
  );
  INSERT INTO by_place
    SELECT pos, last_seq, count, bytes, max_ts, run_ts, min_idt, max_idt, indexed, crc, ids, data FROM batch;
  DROP TABLE batch;
  ALTER TABLE by_place RENAME TO batch;
  CREATE INDEX batch_idt ON batch (min_idt, max_idt) WHERE min_idt IS NOT NULL`;

/** What a file had before topics could be removed. */
const NO_REMOVALS = "ALTER TABLE topic DROP COLUMN removed_at";

/** Undoes what format 5 did, but for the entries of ids and keys. */
const INDEXES_IN_TREES = `
  DROP TABLE id_note; DROP TABLE id_run; DROP TABLE id_chunk; DROP TABLE id_state;
  DROP TABLE key_note; DROP TABLE key_run; DROP TABLE key_chunk; DROP TABLE key_state;
  CREATE TABLE key_index (
    topic INTEGER NOT NULL, key BLOB NOT NULL, first_seq INTEGER NOT NULL, part INTEGER NOT NULL,
    PRIMARY KEY (topic, key, first_seq, part)
  ) WITHOUT ROWID`;

/** A UUID that is no UUIDv7. */
const OTHER_UUID = "9b2d5b4e-9d3c-4c1e-8a59-2f6d0e7c1b3a";

describe("opening a store", () => {
  it("makes the file and the folders above it", async () => {
    const path = join(work.folder, "a", "b", "bus.db");
    await work.open({ path });
    expect((await stat(path)).isFile()).toBe(true);
  });

  it("refuses a folder in place of the file, and says what to give instead", async () => {
    const error = await failsWith("STORE_UNAVAILABLE", embeddedStore({ path: work.folder }).open());
    expect(error.retryable).toBe(false);
    expect(error.message).toContain("is a folder");
  });

  it("refuses a path below a file", async () => {
    await writeFile(join(work.folder, "file"), "");
    await failsWith("STORE_UNAVAILABLE", embeddedStore({ path: join(work.folder, "file", "bus.db") }).open());
  });

  it("refuses a file that is not a database, and leaves it as it is", async () => {
    const text = "a letter to a friend, and long enough not to be taken for an empty file. ".repeat(50);
    await writeFile(work.path, text);
    const error = await failsWith("STORE_INCOMPATIBLE", embeddedStore({ path: work.path }).open());
    expect(error.message).toMatch(/not a SQLite database; give another path, or move that file away$/);
    expect(error.details).toMatchObject({ sqlite: "SQLITE_NOTADB" });
    expect(await readFile(work.path, "utf8")).toBe(text);
  });

  it("refuses a database of another program, and leaves it as it is", async () => {
    const other = new Database(work.path);
    other.exec("CREATE TABLE customers (name TEXT)");
    other.close();
    const before = await readFile(work.path);
    const error = await failsWith("STORE_INCOMPATIBLE", embeddedStore({ path: work.path }).open());
    expect(error.message).toContain("another program");
    expect((await readFile(work.path)).equals(before)).toBe(true);
  });

  it("refuses a file of a newer release, and leaves its content as it is", async () => {
    const store = await work.open();
    await append(store, drafts(3));
    await store.close();
    const newer = new Database(work.path);
    const [version] = newer.prepare("PRAGMA user_version").raw(true).get() as [number];
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    const error = await failsWith("STORE_INCOMPATIBLE", embeddedStore({ path: work.path }).open());
    expect(error.message).toContain("newer release");
    expect(error.details).toMatchObject({ fileVersion: 99 });
    const back = new Database(work.path);
    back.exec(`PRAGMA user_version = ${version}`);
    back.close();
    expect(await readAll(await work.open())).toHaveLength(3);
  });

  const olderFormats = [
    { format: 5, undone: NO_REMOVALS },
    { format: 4, undone: `${NO_REMOVALS}; ${INDEXES_IN_TREES}` },
    { format: 3, undone: `${NO_REMOVALS}; ${INDEXES_IN_TREES}; ${ROWS_BY_PLACE}` },
    {
      format: 1,
      undone: `${NO_REMOVALS}; ${INDEXES_IN_TREES}; ${ROWS_BY_PLACE}; DROP TABLE sheet; DROP TABLE filing; DROP TABLE filed_id; DROP TABLE ahead`,
    },
  ];
  for (const { format, undone } of olderFormats) {
    it(`brings a file of format ${format} up to date, with all that is in it`, async () => {
      const store = await work.open({}, { keyed: true });
      for (let n = 0; n < 2; n++) await append(store, drafts(2));
      await append(store, [draft(5, { id: "mine", key: "k" }), draft(6, { id: OTHER_UUID })]);
      const before = await readAll(store);
      await store.close();
      const older = new Database(work.path);
      older.exec(`${undone}; PRAGMA user_version = ${format}`);
      const entry = older.prepare("INSERT INTO id_index (id, part, seq) SELECT ?, first_part, ? FROM topic");
      entry.run(textIndexKey("mine"), 5);
      entry.run(Buffer.from(`01${OTHER_UUID.replaceAll("-", "")}`, "hex"), 6);
      older.close();
      const again = await work.open();
      expect(await readAll(again)).toEqual(before);
      for (const { id, seq } of before) expect(await again.log.find(id)).toMatchObject({ seq });
      expect(await again.log.history(TOPIC, "k", { limit: 10 })).toMatchObject([{ id: "mine" }]);
      await append(again, [
        draft(7),
        draft(8, { id: "mine", freshId: false }),
        draft(8, { id: OTHER_UUID, freshId: false }),
        draft(8),
      ]);
      expect((await readAll(again)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect((await again.check()).problems).toEqual([]);
      await again.log.remove(TOPIC, 0, [5, 6]);
      expect([await again.log.find("mine"), await again.log.find(OTHER_UUID)]).toEqual([null, null]);
      expect((await again.check()).problems).toEqual([]);
    });
  }

  it("says so when another program holds the file, and opens once that is over", async () => {
    await runProgram(opener, [work.path]);
    const holder = new Database(work.path);
    holder.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    const error = await failsWith(
      "STORE_LOCKED",
      embeddedStore({ path: work.path, busyTimeoutMs: 100 }).open(),
    );
    expect(error.retryable).toBe(true);
    expect(error.message).toContain("another program holds");
    holder.exec("ROLLBACK");
    holder.close();
    await work.open();
  });

  it("fails where the system makes no folder, and does not try for ever", async () => {
    const opening = embeddedStore({ path: "/proc/none/a/bus.db" }).open();
    expect((await failsWith("STORE_UNAVAILABLE", opening)).message).toContain("cannot be made");
  });

  it("says so when the folder cannot be written", async () => {
    const folder = join(work.folder, "closed");
    await mkdir(folder);
    await chmod(work.folder, 0o755);
    await chmod(folder, 0o555);
    const [line = ""] = await runProgram(opener, [join(folder, "bus.db"), "ordinary"]);
    expect(JSON.parse(line)).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: false });
    expect(line).toContain("can be written");
  });

  it("takes a path as it is, whatever characters are in it", async () => {
    const names = ["a b.db", "50%25.db", "what?vfs=none.db", "#1.db", "größe 漢.db", "back\\slash&more=.db"];
    for (const name of names) {
      const path = join(work.folder, name);
      const store = await work.open({ path });
      await append(store, drafts(3));
      await store.backup(`${path}.copy`);
      await store.close();
      expect(await readdir(work.folder)).toEqual(expect.arrayContaining([name, `${name}.copy`]));
      expect(await readAll(await work.open({ path: `${path}.copy` }))).toHaveLength(3);
    }
  });

  it("is closed by a close that comes while it is being opened, also if it is opened again behind it", async () => {
    const store = embeddedStore({ path: join(work.folder, "bus.db"), exclusive: true });
    const opening = store.open();
    await store.close();
    await opening;
    await failsWith("CLOSED", store.registry.topics());
    await Promise.all([store.open(), store.close(), store.open()]);
    expect(await store.registry.topics()).toEqual([]);
    await store.close();
    await work.open({ path: store.path, exclusive: true });
  });

  it("can be opened once what was in its way is gone, by all who had tried", async () => {
    const path = join(work.folder, "bus.db");
    await mkdir(path);
    const store = embeddedStore({ path });
    const opening = [store.open(), store.open()];
    await store.close();
    for (const one of opening) await failsWith("STORE_UNAVAILABLE", one);
    await rmdir(path);
    await store.open();
    expect(await store.registry.topics()).toEqual([]);
    await store.close();
    await failsWith("CLOSED", store.registry.topics());
  });

  it("refuses paths that are none", () => {
    for (const path of ["", ":memory:", "file:bus.db", "bus\0.db"]) {
      expect(() => embeddedStore({ path })).toThrow("needs the path of a file");
    }
  });

  it("refuses addresses, says what they are for, and repeats none: there may be a password in it", () => {
    for (const path of [
      "mongodb://ada:secret@db/shop",
      "mongo://db",
      "https://hub:8420",
      "mongodb+srv://db",
    ]) {
      const words =
        "embeddedStore needs the path of a file, not an address; for MongoDB there is mongoStore({ url })";
      expect(() => embeddedStore({ path })).toThrow(new BusError("INVALID_OPTION", words));
    }
  });

  it("refuses an option that it does not know: misspelt, it would count for nothing", () => {
    const misspelt = { path: join(work.folder, "bus.db"), exlusive: true };
    expect(() => embeddedStore(misspelt)).toThrow('embeddedStore knows no option "exlusive"; it takes path,');
  });

  it.each<[string, object]>([
    ["busyTimeoutMs", { busyTimeoutMs: "5s" }],
    ["busyTimeoutMs", { busyTimeoutMs: -1 }],
    ["busyTimeoutMs", { busyTimeoutMs: Number.POSITIVE_INFINITY }],
    ["exclusive", { exclusive: "no" }],
    ["onWarning", { onWarning: "console" }],
  ])("refuses a value of %s that is none, by its name: %j", (name, options) => {
    const path = join(work.folder, "bus.db");
    expect(() => embeddedStore({ path, ...options })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(`${name} is `) }),
    );
  });

  it("P1: refuses a durability that is none, rather than take it for one", () => {
    const path = join(work.folder, "bus.db");
    expect(() => embeddedStore({ path, durability: "fast" as "os" })).toThrow('durability is "sync" or "os"');
  });

  it("P1: says loudly that it is not synced, and in its name", async () => {
    const warnings: string[] = [];
    const store = await work.open({ durability: "os", onWarning: (message) => warnings.push(message) });
    expect(warnings.join()).toContain("not synced");
    expect(store.name).toContain("not synced");
    expect(store.durability).toBe("os");
    await append(store, drafts(3));
    await store.close();
    expect(await readAll(await work.open())).toHaveLength(3);
  });
});
