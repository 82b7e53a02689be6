/** `promethean backup`: a copy of a store's file, taken while the store is in use. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { EmbeddedStore } from "../../stores/embedded/index.js";
import { usageError } from "../exit.js";
import { demandBus } from "../own-bus.js";
import { newCommand } from "../own-command.js";
import { dataSize } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";

export function backupCommand(): Command {
  const command = newCommand(
    "backup",
    "Copies the file of a store, as it stands, while the store is in use. The copy is a store, and appears whole or not at all.",
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
  const store = demandFileStore(demandBus(await session.connect(), "backup").store);
  out.note(`copying ${store.path} …`);
  await store.backup(target);
  const { size } = await stat(target);
  out.value({ store: store.path, file: target, bytes: size }, `${target} written, ${dataSize(size)}.`);
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
  throw usageError(
    "backup copies the file of an embedded store, and this store has none",
    "of MongoDB, use mongodump or snapshots of its volumes; of single topics, promethean export",
  );
}
