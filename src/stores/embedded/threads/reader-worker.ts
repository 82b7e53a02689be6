/** The reading thread: for reads that may take long, so that the event loop does not wait for them. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { AheadFile } from "../ahead/ahead-file.js";
import { copyFile } from "../backup/file-copy.js";
import { findDocuments } from "../documents/document-reader.js";
import { busError, packError } from "../errors.js";
import { Checker } from "../log/checker.js";
import { Connection } from "../sqlite.js";
import { isOver, unlessOver } from "./reader-end.js";
import type { LongReads, ReaderStart, ReadReply, ReadRequest } from "./reader-thread.js";

function serve(port: MessagePort, { path, busyTimeoutMs, end }: ReaderStart): void {
  let connection: Connection | undefined;
  let checking: Checker | undefined;
  const opened = (): Connection => {
    connection ??= new Connection(path, { busyTimeoutMs });
    return connection;
  };
  const checker = (): Checker => {
    checking ??= new Checker(opened());
    return checking;
  };
  const reads: LongReads = {
    find: ({ view, query }) => opened().snapshot(() => findDocuments(opened(), view, query)),
    backup: ({ target, file, givenUp }) =>
      copyFile(opened(), { path: target, file }, () => Atomics.load(givenUp, 0) !== 0 || isOver(end)),
    disown: ({ copy }) => disown(copy, busyTimeoutMs),
    checkStructure: () => checker().structure(),
    checkPartitions: () => checker().partitions(),
    checkNext: (stretch) => opened().snapshot(() => checker().next(stretch)),
  };
  const answer = ({ number, name, argument }: ReadRequest): void => {
    let reply: ReadReply;
    try {
      reply = { number, answer: (reads[name] as (argument: unknown) => unknown)(argument) };
    } catch (error) {
      reply = { number, error: packError(busError(error, path)) };
    }
    port.postMessage(reply);
  };
  port.on("message", (message: ReadRequest | "close") => {
    if (message !== "close" && unlessOver(end, () => answer(message))) return;
    connection?.close();
    port.close();
  });
}

/** What stands in a file ahead belongs to the store that was copied: where the copy takes its place, it is none of the copy's. */
function disown(copy: string, busyTimeoutMs: number): void {
  const connection = new Connection(copy, { busyTimeoutMs });
  try {
    // Whoever asked for the copy syncs it, or takes it away.
    connection.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    new AheadFile(connection).end();
  } finally {
    connection.close();
  }
}

if (parentPort !== null) serve(parentPort, workerData as ReaderStart);
