/**
 * Which topic a view is made of, and how. The functions of a definition live in the process that started its projector;
 * a view made without any is known to every process that shares the store.
 */
import { BusError } from "../../model/errors.js";
import { topicName } from "../../model/topic.js";
import type { Registry } from "../../ports/registry.js";
import type { Host } from "../host.js";
import type { ChangelogOptions } from "./changelog.js";
import { keeperOf } from "./kept-views.js";
import { removeToken } from "./view-pointer.js";

const PREFIX = "view:";

/** What a changelog projector makes a view of. */
export type ViewSource<T = unknown> = Pick<
  ChangelogOptions<T>,
  "topic" | "keyOf" | "map" | "tombstone" | "versionOf" | "indexes" | "group"
>;

/** What every process knows of it. A type: tokens hold JSON. */
type Noted = {
  readonly topic: string;
  readonly plain: boolean;
  /** The projector's, if it has one of its own. */
  readonly group?: string;
};

/** By the board that all buses of one core share. */
const known = new WeakMap<Host["tasks"], Map<string, ViewSource>>();

export async function rememberView<T>(host: Host, view: string, source: ViewSource<T>): Promise<void> {
  const views = known.get(host.tasks) ?? new Map<string, ViewSource>();
  known.set(host.tasks, views.set(view, source as ViewSource));
  const { keyOf, map, tombstone, versionOf } = source;
  const plain = [keyOf, map, tombstone, versionOf].every((part) => part === undefined);
  const { group } = source;
  const value: Noted = { topic: topicName(source.topic), plain, ...(group !== undefined && { group }) };
  const token = await host.store.registry.token(tokenName(view));
  const stored = token?.value as Partial<Noted> | undefined;
  if (stored?.topic === value.topic && stored.plain === plain && stored.group === group) return;
  try {
    await host.store.registry.putToken(tokenName(view), value, { expected: token?.revision ?? 0 });
  } catch (error) {
    // Another process starts the same projector now, and says the same.
    if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
  }
}

/** False once it was removed. */
export async function isKnownView({ store }: Host, view: string): Promise<boolean> {
  return (await store.registry.token(tokenName(view))) !== null;
}

/** The definition of a view by its name. One that was removed is nobody's, also where its projector ran. */
export async function viewSource<T>(host: Host, view: string): Promise<ViewSource<T>> {
  const token = await host.store.registry.token(tokenName(view));
  const stored = token?.value as Noted | undefined;
  if (stored === undefined) throw await unknownSource(host, view);
  const own = known.get(host.tasks)?.get(view);
  if (own !== undefined) return own as ViewSource<T>;
  if (stored.plain) return { topic: stored.topic };
  throw new BusError(
    "UNSUPPORTED",
    `the view ${view} is made by code of another process: hand its definition in, as for its projector`,
  );
}

export type NotedView = Noted & { readonly view: string };

/** All views of changelog projectors. */
export async function notedViews(registry: Registry): Promise<NotedView[]> {
  const tokens = await registry.tokens(PREFIX);
  return [...tokens].map(([name, { value }]) => ({ ...(value as Noted), view: name.slice(PREFIX.length) }));
}

/** No projector makes it any more. */
export function forgetView(registry: Registry, view: string): Promise<void> {
  return removeToken(registry, tokenName(view));
}

async function unknownSource(host: Host, view: string): Promise<BusError> {
  const keeper = await keeperOf(host.store.registry, view);
  if (keeper === null) return new BusError("NOT_FOUND", `no projector makes a view ${view}`);
  return new BusError(
    "UNSUPPORTED",
    `the view ${view} is kept by a transaction (group ${keeper.group} of ${keeper.topic}): single events do not tell what it was`,
  );
}

function tokenName(view: string): string {
  return PREFIX + view;
}
