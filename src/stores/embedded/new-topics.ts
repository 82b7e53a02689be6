/**
 * Which topics came into being in the file: a look costs what has come, however many there are. Rows of topics are never removed and
 * their numbers grow, so that those behind the last one known are new. Of a topic that was removed and is there again nothing is told
 * here: that is found by those who look through all topics now and then.
 */
import type { Connection } from "./sqlite.js";

/** More than these at once are not told one by one. */
const MAX_TOLD = 256;

export interface NewTopics {
  /** The number of the newest row. */
  readonly last: number;
  /** undefined: it is not known which are new, or too many are. */
  readonly names: readonly string[] | undefined;
}

/** `last`: as it was found before; undefined: nobody has looked. */
export function newTopics(connection: Connection, last: number | undefined): NewTopics {
  if (last !== undefined) {
    const rows = connection
      .sql("SELECT id, name FROM topic WHERE id > ? ORDER BY id LIMIT ?")
      .all<[id: number, name: string]>(last, MAX_TOLD + 1);
    if (rows.length <= MAX_TOLD)
      return { last: rows.at(-1)?.[0] ?? last, names: rows.map(([, name]) => name) };
  }
  const newest = connection.sql("SELECT max(id) FROM topic").get<[number | null]>();
  return { last: newest?.[0] ?? 0, names: undefined };
}
