/** `promethean backup`: a copy of a store's file, taken while the store is in use. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { Copy } from "../../stores/embedded/backup/copy-place.js";
import { partOf } from "../../stores/embedded/backup/partial-copy.js";
import type { EmbeddedStore } from "../../stores/embedded/index.js";
import type { Backend } from "../backend.js";
import { CliError, codeOf, failure, usageError } from "../exit.js";
import { watchGrowth } from "../growth.js";
import { newCommand } from "../own-command.js";
import { Progress } from "../progress.js";
import { dataSize } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";

export function backupCommand(): Command {
  const command = newCommand(
    "backup",
    "Copies the file of a store while it is in use. The copy is a store of its own, and appears whole or not at all. A hub copies the store that it runs on, also with --exclusive, and sends the copy.",
    [
      "promethean backup bus-copy.db --store bus.db",
      "promethean backup bus-$(date +%F).db --store bus.db && promethean doctor --store bus-$(date +%F).db --deep",
    ],
  ).argument("<file>", "the copy; it must not be there yet");
  return withConnection(command).action(perform<object, [string]>(backup));
}

async function backup(session: Session, file: string): Promise<void> {
  const { out } = session;
  const target = resolve(file);
  await demandFree(target);
  const backend = await session.connect().catch(suggestHub);
  const { bus } = backend;
  const store = bus === undefined ? undefined : demandFileStore(bus.store);
  out.note(`copying ${store?.path ?? `the store of ${backend.name}`} …`);
  await (store === undefined ? fromHub(backend, target) : fromStore(store, target, session.signal));
  const { size } = await stat(target);
  const from = store?.path ?? backend.name;
  out.value({ store: from, file: target, bytes: size }, `${target} written, ${dataSize(size)}.`);
}

/** The copy is made in one go, which says nothing until it is over: the file that grows shows how far it is. */
async function fromStore(store: EmbeddedStore, target: string, signal: AbortSignal): Promise<void> {
  const progress = new Progress("backup", (await stat(store.path)).size, "bytes");
  const over = new AbortController();
  const watched = watchGrowth(partOf(target), (bytes) => progress.at(bytes), over.signal);
  try {
    await store.backup(target, { signal });
  } finally {
    over.abort();
    await watched;
    progress.end();
  }
}

async function fromHub(backend: Backend, target: string): Promise<void> {
  const { bytes, body } = await backend.download("/backup").catch(refuseNoFile);
  const progress = new Progress("backup", bytes, "bytes");
  try {
    const copy = await Copy.begin(target);
    try {
      for await (const piece of body) {
        await copy.write(piece);
        progress.add(piece.length);
      }
      await setAside(copy);
      await copy.appear();
    } finally {
      await copy.end();
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const why = (error as NodeJS.ErrnoException).code;
    throw failure("STORE_UNAVAILABLE", `${target} cannot be written (${why})`, { cause: error });
  } finally {
    progress.end();
  }
}

/** Only a file that nobody else writes to may appear. */
async function setAside(copy: Copy): Promise<void> {
  await copy.setAside().catch((cause: unknown) => {
    throw failure("STORE_UNAVAILABLE", `somebody else has taken ${copy.path}: another backup to that file`, {
      cause,
    });
  });
}

/** What an earlier store of that name left beside it would be taken for a part of the copy. */
async function demandFree(target: string): Promise<void> {
  for (const part of ["", "-wal", "-journal", "-ahead"]) {
    const there = await stat(target + part).catch(() => undefined);
    if (there !== undefined)
      throw usageError(`${target + part} is there already`, "name another file, or move that one away");
  }
}

function demandFileStore(store: object): EmbeddedStore {
  if ("backup" in store) return store as EmbeddedStore;
  throw noFile();
}

function refuseNoFile(error: unknown): never {
  throw codeOf(error) === "UNSUPPORTED" ? noFile() : error;
}

function noFile(): CliError {
  return usageError(
    "backup copies the file of an embedded store, and this store has none",
    "of MongoDB, use mongodump or snapshots of its volumes; of single topics, promethean export",
  );
}

function suggestHub(error: unknown): never {
  if (codeOf(error) !== "STORE_LOCKED") throw error;
  const hint = "if a hub has it, the hub can copy it: --url <hub> instead of --store";
  throw failure("STORE_LOCKED", (error as Error).message, { hint, cause: error });
}
