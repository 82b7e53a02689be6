/** The connection that writes: how it is set up, and the lock that goes with it. */
import { busError } from "../errors.js";
import type { WriterOptions } from "../protocol.js";
import { checkFile, prepareSchema } from "../schema.js";
import { Connection } from "../sqlite.js";
import { UseLock } from "../use-lock.js";

/** For the pages of indexes that are written all over. */
const CACHE_KIBIBYTES = 16_384;
/** Pages of the log beside the main file (16 MiB) before a commit folds it back in, if nobody has by then. */
const CHECKPOINT_PAGES = 4_096;

/** Opens the file, makes it a store if it is empty, and holds it as it is used; throws a BusError that says what to do. */
export function openForWriting(options: WriterOptions): { connection: Connection; useLock: UseLock } {
  const connection = connect(options);
  try {
    return { connection, useLock: new UseLock(options) };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function connect(options: WriterOptions): Connection {
  const { path } = options;
  try {
    const connection = new Connection(path, options);
    // Before anything else: a file of another program stays as it is.
    checkFile(connection);
    // Only counts for a file that has no tables yet.
    connection.exec("PRAGMA auto_vacuum = INCREMENTAL");
    connection.pragma("journal_mode = WAL");
    connection.exec(`PRAGMA synchronous = ${options.durability === "sync" ? "FULL" : "NORMAL"}`);
    connection.exec(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`);
    connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA journal_size_limit = 67108864`);
    prepareSchema(connection);
    if (options.maxBytes !== undefined) {
      const pages = Math.ceil(options.maxBytes / Number(connection.pragma("page_size")));
      connection.pragma(`max_page_count = ${pages}`);
    }
    connection.pragma("busy_timeout = 0");
    return connection;
  } catch (error) {
    throw busError(error, path);
  }
}
