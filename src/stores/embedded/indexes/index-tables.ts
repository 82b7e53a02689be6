/**
 * The tables of an index of hashes: one for ids, one for keys. Numbers of notes and runs are never used again: readers tell by them
 * what is new. What stands in them is told in hashed-index.
 */
export interface IndexTables {
  /** What it is an index of, for people. */
  readonly title: "ids" | "keys";
  readonly note: string;
  readonly run: string;
  readonly chunk: string;
  readonly state: string;
}

export const ID_TABLES = tablesOf("ids", "id");
export const KEY_TABLES = tablesOf("keys", "key");

function tablesOf(title: IndexTables["title"], prefix: string): IndexTables {
  return {
    title,
    note: `${prefix}_note`,
    run: `${prefix}_run`,
    chunk: `${prefix}_chunk`,
    state: `${prefix}_state`,
  };
}

/** Makes them. The first entry of a chunk stands in its key too, so that a look at those loads no chunks. */
export function indexSchema({ note, run, chunk, state }: IndexTables): string {
  return `
  CREATE TABLE ${note} (id INTEGER PRIMARY KEY AUTOINCREMENT, entries BLOB NOT NULL);
  CREATE TABLE ${run} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    count INTEGER NOT NULL,
    into_run INTEGER,
    through_hash INTEGER,
    through_seq INTEGER
  );
  CREATE TABLE ${chunk} (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    first_hash INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    filter BLOB NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (run, number, first_hash, first_seq)
  );
  CREATE TABLE ${state} (key BLOB NOT NULL, version INTEGER NOT NULL, dead INTEGER NOT NULL);
  INSERT INTO ${state} (key, version, dead) VALUES (randomblob(8), 0, 0);
  `;
}
