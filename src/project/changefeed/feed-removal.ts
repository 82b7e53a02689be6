/**
 * Forgetting what a change feed has published (P12): the digests of its documents, which stand in a view of their own.
 *
 * The feed's place stays, marked: its next start scans the collection and publishes all that is there anew. Were the place
 * removed too, the feed would begin as at its first start, skip what happened meanwhile, and give ids that it gave before.
 */
import { BusError } from "../../model/errors.js";
import type { JsonObject } from "../../model/json.js";
import type { Registry, Token } from "../../ports/registry.js";
import type { Host } from "../host.js";
import { FEED_PREFIX, isRunning, type StoredPlace } from "./running-feeds.js";

const VIEW_PREFIX = "changefeed.";

/** The view that has a feed's digests. */
export function digestView(feed: string): string {
  return VIEW_PREFIX + feed.toLowerCase();
}

/** The feeds whose digests a view has: one, unless their names differ in case alone. */
export async function feedsOfView(registry: Registry, view: string): Promise<ReadonlyMap<string, Token>> {
  const feeds = new Map<string, Token>();
  if (!view.startsWith(VIEW_PREFIX)) return feeds;
  for (const [name, token] of await registry.tokens(FEED_PREFIX))
    if (digestView(name.slice(FEED_PREFIX.length)) === view) feeds.set(name, token);
  return feeds;
}

/** WRITE_CONFLICT while a process runs one of them. */
export function refuseRunning(feeds: ReadonlyMap<string, Token>, nowMs: number): void {
  for (const [name, { value }] of feeds) {
    const stored = value as unknown as StoredPlace;
    if (!isRunning(stored, stored.silentMs ?? 0, nowMs)) continue;
    const feed = name.slice(FEED_PREFIX.length);
    throw new BusError("WRITE_CONFLICT", `the change feed ${feed} runs; stop it first`, { retryable: false });
  }
}

/**
 * The mark comes first: after a crash in between the feed compares with what is left, and publishes what differs. One that was
 * started meanwhile is marked again, since what it has remembered by then may be gone.
 */
export async function forgetPublished(
  { store: { registry, documents } }: Pick<Host, "store">,
  view: string,
  feeds: ReadonlyMap<string, Token>,
): Promise<void> {
  const marked = new Map<string, number>();
  for (const [name, token] of feeds) marked.set(name, await mark(registry, name, token));
  await documents.drop(view);
  for (const [name, revision] of marked) await markIfMoved(registry, name, revision);
}

/** A feed that runs writes its place with every batch, and may do so just now. */
async function markIfMoved(registry: Registry, name: string, since: number): Promise<void> {
  for (;;) {
    const token = await registry.token(name);
    if (token === null || token.revision === since) return;
    try {
      await mark(registry, name, token);
      return;
    } catch (error) {
      if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
    }
  }
}

function mark(registry: Registry, name: string, { value, revision }: Token): Promise<number> {
  const marked = { ...(value as JsonObject), isForgotten: true };
  return registry.putToken(name, marked, { expected: revision });
}
