/**
 * A copy of the store's file, made by the hub and sent as it stands: the way to copy a store that the hub has for itself.
 *
 * The copy lies beside the store, which surely has room for files of its kind, and is removed as soon as it is open: however its
 * sending ends, nothing of it stays.
 */
import { type FileHandle, open, rm } from "node:fs/promises";
import { z } from "@hono/zod-openapi";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { addRoute, demand, forbidden, type HubApp, type HubRequest } from "./base.js";
import { fileStream, streamLife } from "./streams.js";

/** A store that is a file, and can copy itself while it goes on. */
interface FileStore {
  readonly path: string;
  backup(path: string, o: { readonly signal: AbortSignal }): Promise<void>;
}

export function backupRoute(app: HubApp, hub: HubContext): void {
  // One at a time: each takes as much room as the store.
  let isUnderWay = false;
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/backup",
      tag: "operations",
      summary: "A copy of the store's file, as it stands; of stores that are a file",
      rights: "ops:backup and read:*",
      body: z.strictObject({}),
      answer: z.string(),
      contentType: "application/octet-stream",
    },
    async (c) => {
      demand(c, "ops", "backup");
      if (!c.get("caller").acl.allowsPattern("read", "**")) throw forbidden("read", "*");
      const store = demandFileStore(hub.bus.store);
      if (isUnderWay) throw new HubError("QUEUE_FULL", "another backup is under way; try again later");
      isUnderWay = true;
      return sendCopy(c, hub, store, () => {
        isUnderWay = false;
      });
    },
  );
}

function demandFileStore(store: object): FileStore {
  if ("backup" in store) return store as FileStore;
  throw new HubError("UNSUPPORTED", "the store of this hub is no file that could be copied");
}

async function sendCopy(
  c: HubRequest,
  hub: HubContext,
  store: FileStore,
  onOver: () => void,
): Promise<Response> {
  const { outgoing } = c.env;
  const caller = c.get("caller");
  const life = streamLife(hub, caller);
  let copy: FileHandle | undefined;
  const end = async (): Promise<void> => {
    life.end();
    await copy?.close();
    onOver();
  };
  try {
    // It is given up when whoever asked for it is gone, or the hub goes down.
    outgoing.once("close", life.end);
    copy = await openCopy(store, `${store.path}-backup-${hub.roll.id}`, life.signal);
    const { size } = await copy.stat();
    const { registry } = hub.bus.store;
    const done = { action: "backup", target: "store", details: { bytes: size } };
    await registry.audit({ atMs: hub.bus.clock.now(), actor: caller.subject, ...done });
    // Nobody would read it, nor say that it is over.
    if (outgoing.destroyed) throw new HubError("ABORTED", "whoever asked for it is gone");
    outgoing.once("close", () => void end());
    return new Response(fileStream(hub, copy, life, outgoing), {
      headers: {
        "Content-Type": "application/octet-stream",
        "Content-Length": String(size),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": 'attachment; filename="backup.db"',
      },
    });
  } catch (error) {
    await end();
    throw error;
  }
}

async function openCopy(store: FileStore, path: string, signal: AbortSignal): Promise<FileHandle> {
  try {
    await store.backup(path, { signal });
    return await open(path);
  } finally {
    await rm(path, { force: true });
  }
}
