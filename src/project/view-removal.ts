/**
 * Removing a view that nobody needs any more: its documents in all builds, the groups that feed them, and what is written down of
 * it. Views that one transactional projector keeps go together, as they were made.
 *
 * What says that there is a view goes last: after a crash it can be removed again. A view that has the digests of a change feed is
 * removed in its own way: see changefeed/feed-removal.ts.
 */
import { BusError } from "../model/errors.js";
import type { JsonObject } from "../model/json.js";
import { checkOptionNames, namesOf } from "../model/known-options.js";
import type { Registry, Token } from "../ports/registry.js";
import { feedsOfView, forgetPublished, refuseRunning } from "./changefeed/feed-removal.js";
import { FEED_PREFIX } from "./changefeed/running-feeds.js";
import { refuseInUse } from "./group-in-use.js";
import { removeGroup } from "./group-pause.js";
import { checkHost, type Host } from "./host.js";
import { checkObject } from "./option-checks.js";
import { type Feeder as FeedingGroup, feedersOfView, feeds, isBuildOf } from "./views/feeders.js";
import { forgetKeeper, keeperName, keeperOf, viewsOf } from "./views/kept-views.js";
import { checkViewName } from "./views/view.js";
import { forgetView, notedViews } from "./views/view-definitions.js";
import { removePointer } from "./views/view-pointer.js";

/** Whether to remove it, or only to say what that would mean; and who does it, for the audit. */
export interface RemoveViewOptions {
  /** The view stays. */
  readonly dryRun?: boolean;
  readonly actor?: string;
}

/** What the removal of a view means, or meant. */
export interface RemovedView {
  readonly view: string;
  readonly removed: boolean;
  /** In the builds of all of these views. */
  readonly documents: number;
  /** Views that the same projector keeps: they go with it. */
  readonly others: readonly string[];
  /** Change feeds that know by this view what they published: their next start scans the collection, and publishes all that is there anew. */
  readonly feeds?: readonly string[];
}

/** Whatever feeds a view, as the store knows it. */
interface Feeder {
  readonly topic: string;
  readonly groups: readonly FeedingGroup[];
  readonly views: readonly string[];
  /** Whose pointers there are. */
  readonly pointers: readonly string[];
}

const OPTIONS = namesOf<RemoveViewOptions>({ dryRun: true, actor: true });

/**
 * Removes a view with all that belongs to it. NOT_FOUND if no projector made it; WRITE_CONFLICT while its projector runs, or a
 * rebuild of it, in whatever process. Of a change feed (`changefeed.<name>`) it removes what the feed knows of what it published.
 *
 * @example
 * await removeView(bus, "processes");
 */
export async function removeView(
  host: Host,
  view: string,
  options: RemoveViewOptions = {},
): Promise<RemovedView> {
  checkHost(host);
  checkViewName(view);
  checkObject("removeView", options);
  checkOptionNames("removeView", options, OPTIONS);
  const { store } = host;
  const ofFeed = await digestsOf(host, view);
  if (ofFeed !== null) return removeDigests(host, ofFeed, options);
  const feeder = await feederOf(store.registry, view);
  const groups = await groupsOf(host, feeder);
  const tables = (await store.documents.views()).filter((table) =>
    feeder.views.some((one) => isBuildOf(table.view, one)),
  );
  const documents = tables.reduce((sum, table) => sum + table.documents, 0);
  const others = feeder.views.filter((one) => one !== view);
  if (options.dryRun) return { view, removed: false, documents, others };
  for (const group of groups) await removeGroup(store, { topic: feeder.topic, group });
  for (const table of tables) await store.documents.drop(table.view);
  await forget(store.registry, feeder);
  await note(host, view, options, { documents, others: [...others], topic: feeder.topic });
  return { view, removed: true, documents, others };
}

async function note(
  { store, clock }: Host,
  view: string,
  { actor = "bus" }: RemoveViewOptions,
  details: JsonObject,
): Promise<void> {
  await store.registry.audit({ atMs: clock.now(), actor, action: "view.remove", target: view, details });
}

interface Digests {
  readonly view: string;
  readonly documents: number;
  /** By their names in the registry. */
  readonly feeds: ReadonlyMap<string, Token>;
}

/** Null if the view is none of a change feed's, or is gone already. */
async function digestsOf({ store }: Host, view: string): Promise<Digests | null> {
  const feeds = await feedsOfView(store.registry, view);
  if (feeds.size === 0) return null;
  const table = (await store.documents.views()).find((one) => one.view === view);
  return table === undefined ? null : { view, documents: table.documents, feeds };
}

async function removeDigests(host: Host, ofFeed: Digests, options: RemoveViewOptions): Promise<RemovedView> {
  const { view, documents } = ofFeed;
  refuseRunning(ofFeed.feeds, host.clock.now());
  const feeds = [...ofFeed.feeds.keys()].map((name) => name.slice(FEED_PREFIX.length));
  if (options.dryRun) return { view, removed: false, documents, others: [], feeds };
  await forgetPublished(host, view, ofFeed.feeds);
  await note(host, view, options, { documents, feeds });
  return { view, removed: true, documents, others: [], feeds };
}

async function feederOf(registry: Registry, view: string): Promise<Feeder> {
  const noted = (await notedViews(registry)).find((one) => one.view === view);
  if (noted !== undefined) {
    return { topic: noted.topic, groups: feedersOfView(noted), views: [view], pointers: [view] };
  }
  const keeper = await keeperOf(registry, view);
  if (keeper === null) throw new BusError("NOT_FOUND", `no projector makes a view ${view}`);
  const views = await viewsOf(registry, keeper);
  return { topic: keeper.topic, groups: [keeper], views, pointers: [...views, keeperName(keeper)] };
}

/** Its groups, of all builds; throws if one is in use. */
async function groupsOf({ store, clock }: Host, { topic, groups }: Feeder): Promise<string[]> {
  const found = (await store.groups.list(topic))
    .map(({ group }) => group)
    .filter((group) => groups.some((feeder) => feeds(group, feeder)));
  for (const group of found) {
    const state = await store.groups.state({ topic, group }, { nowMs: clock.now() });
    if (state !== null) refuseInUse(state);
  }
  return found;
}

async function forget(registry: Registry, { views, pointers }: Feeder): Promise<void> {
  for (const pointer of pointers) await removePointer(registry, pointer);
  for (const view of views) {
    await forgetKeeper(registry, view);
    await forgetView(registry, view);
  }
}
