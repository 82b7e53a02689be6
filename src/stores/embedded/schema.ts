/**
 * The tables of a store file, and how an older file becomes a newer one. `PRAGMA user_version` counts the steps that
 * were taken; a step is never changed after release, only followed by another. A file with more steps than this
 * program knows is refused, untouched.
 *
 * A batch row holds consecutive events of one partition. Its place `pos` is partition number × 2^40 + first seq, so that
 * one index serves reads in order and look-ups by seq. Rows stand in the order in which they were written: those of a
 * commit, of however many partitions, fill pages one after the other, and only the small entries of their places go to
 * pages all over. The bytes come last in the row: a look at the other columns does not load them.
 *
 * Small batches of many partitions that are committed together stand in sheets first, many to a row, and are filed as
 * batch rows later: see sheets. `filing` has one row: how far that has come.
 */
import { BusError } from "../../model/errors.js";
import { busError } from "./errors.js";
import { ID_TABLES, indexSchema, KEY_TABLES } from "./indexes/index-tables.js";
import { OUTBOX_TABLE } from "./outbox-table.js";
import type { Connection } from "./sqlite.js";
import { KEYS_FILLING, KEYS_NONE } from "./topics.js";

/** Marks a SQLite file as one of ours: "PMTH". */
const APPLICATION_ID = 0x504d5448;

/** Seqs of one partition lie below this; pos = partition number × SEQS + first seq. */
export const SEQS = 2 ** 40;

const STEPS: readonly string[] = [
  `
  CREATE TABLE topic (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    partitions INTEGER NOT NULL,
    first_part INTEGER NOT NULL,
    config TEXT NOT NULL,
    keys INTEGER NOT NULL
  );
  CREATE TABLE part (
    id INTEGER PRIMARY KEY,
    head INTEGER NOT NULL,
    low INTEGER NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    run_ts INTEGER,
    damage TEXT
  );
  CREATE TABLE batch (
    pos INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    max_ts INTEGER NOT NULL,
    run_ts INTEGER NOT NULL,
    min_idt INTEGER,
    max_idt INTEGER,
    indexed INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    ids BLOB NOT NULL,
    data BLOB NOT NULL
  );
  CREATE INDEX batch_idt ON batch (min_idt, max_idt) WHERE min_idt IS NOT NULL;
  CREATE TABLE id_index (id BLOB PRIMARY KEY, part INTEGER NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE key_index (
    topic INTEGER NOT NULL,
    key BLOB NOT NULL,
    first_seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    PRIMARY KEY (topic, key, first_seq, part)
  ) WITHOUT ROWID;

  CREATE TABLE session (
    member TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    process TEXT,
    until_ms INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE member (
    topic TEXT NOT NULL,
    grp TEXT NOT NULL,
    member TEXT NOT NULL,
    PRIMARY KEY (topic, grp, member)
  ) WITHOUT ROWID;
  CREATE INDEX member_by_name ON member (member);
  CREATE TABLE lease (
    topic TEXT NOT NULL,
    grp TEXT NOT NULL,
    partition INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    owner TEXT,
    clean INTEGER NOT NULL,
    cursor TEXT,
    PRIMARY KEY (topic, grp, partition)
  ) WITHOUT ROWID;
  CREATE INDEX lease_by_owner ON lease (owner) WHERE owner IS NOT NULL;
  CREATE TABLE group_change (
    topic TEXT NOT NULL,
    grp TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (topic, grp)
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX group_change_by_version ON group_change (version);

  CREATE TABLE view (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    indexes TEXT NOT NULL,
    documents INTEGER NOT NULL
  );

  CREATE TABLE schema_entry (
    topic TEXT NOT NULL,
    version INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (topic, version)
  ) WITHOUT ROWID;
  CREATE TABLE token (name BLOB PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE audit (number INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL);
  ${OUTBOX_TABLE}
  `,
  // Numbers of sheets are never used again: readers tell by them what is new.
  `
  CREATE TABLE sheet (id INTEGER PRIMARY KEY AUTOINCREMENT, directory BLOB NOT NULL, data BLOB NOT NULL);
  CREATE TABLE filing (through INTEGER NOT NULL, below INTEGER NOT NULL);
  INSERT INTO filing (through, below) VALUES (0, 0);
  CREATE TABLE filed_id (id BLOB PRIMARY KEY, part INTEGER NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
  `,
  // What has been taken over from the file ahead: see ahead-file.
  `
  CREATE TABLE ahead (salt INTEGER NOT NULL, applied INTEGER NOT NULL);
  INSERT INTO ahead (salt, applied) VALUES (0, 0);
  `,
  // Rows were kept by place: among many partitions each commit changed pages of each of them, and moved rows between these.
  `
  CREATE TABLE batch_as_written (
    id INTEGER PRIMARY KEY,
    pos INTEGER NOT NULL UNIQUE,
    last_seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    max_ts INTEGER NOT NULL,
    run_ts INTEGER NOT NULL,
    min_idt INTEGER,
    max_idt INTEGER,
    indexed INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    ids BLOB NOT NULL,
    data BLOB NOT NULL
  );
  INSERT INTO batch_as_written (pos, last_seq, count, bytes, max_ts, run_ts, min_idt, max_idt, indexed, crc, ids, data)
    SELECT pos, last_seq, count, bytes, max_ts, run_ts, min_idt, max_idt, indexed, crc, ids, data FROM batch ORDER BY pos;
  DROP TABLE batch;
  ALTER TABLE batch_as_written RENAME TO batch;
  CREATE INDEX batch_idt ON batch (min_idt, max_idt) WHERE min_idt IS NOT NULL;
  `,
  // Ids that are no UUIDv7, and keys: see hashed-index. Ids of before stay in id_index; keys are filled in anew from the log.
  `
  ${indexSchema(ID_TABLES)}
  ${indexSchema(KEY_TABLES)}
  DROP TABLE key_index;
  UPDATE topic SET keys = ${KEYS_FILLING} WHERE keys <> ${KEYS_NONE};
  `,
  // The sum of a topic's heads when it was removed: see topics.
  "ALTER TABLE topic ADD COLUMN removed_at INTEGER;",
];

export const SCHEMA_VERSION = STEPS.length;

/** Makes an empty file a store, or brings an older one up to date. Runs on the writing connection. */
export function prepareSchema(connection: Connection): void {
  const { path } = connection;
  try {
    if (checkFile(connection) === SCHEMA_VERSION) return;
    connection.exec("BEGIN IMMEDIATE");
    try {
      // Another process may have done it while this one waited for its turn.
      for (const step of STEPS.slice(checkFile(connection))) connection.exec(step);
      connection.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
  } catch (error) {
    throw busError(error, path);
  }
}

/** How many steps the file has taken; throws if it is not ours, or newer than this program. */
export function checkFile(connection: Connection): number {
  const { path } = connection;
  const version = Number(connection.pragma("user_version"));
  const owner = Number(connection.pragma("application_id"));
  const tables = Number(connection.prepare("SELECT count(*) FROM sqlite_master").get()?.[0]);
  if (tables === 0) return 0;
  if (owner !== APPLICATION_ID) {
    throw new BusError(
      "STORE_INCOMPATIBLE",
      `${path} is a SQLite database of another program; give the store a file of its own`,
      { details: { path, applicationId: owner } },
    );
  }
  if (version > SCHEMA_VERSION) {
    throw new BusError(
      "STORE_INCOMPATIBLE",
      `${path} was written by a newer release (file format ${version}, this one knows ${SCHEMA_VERSION}); upgrade this program`,
      { details: { path, fileVersion: version, knownVersion: SCHEMA_VERSION } },
    );
  }
  return version;
}
