/**
 * Live data: each path is asked for again and again while somebody looks at it, once for all who do.
 *
 * Nothing is asked for while the tab is hidden or the switch is off. When the hub is not there, what was shown stays,
 * and it is tried again, more and more slowly up to a few seconds.
 */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { callText } from "./api.js";
import { token } from "./credentials.js";
import { Feed, type FeedPage, type FeedState, type Watching } from "./feed.js";
import type { Problem } from "./problem.js";

export const liveSwitch = signal(true);
const hidden = signal(document.hidden);
document.addEventListener("visibilitychange", () => {
  hidden.value = document.hidden;
});

/** When the hub was last heard of, and since when it is not. */
export const lastHeardMs = signal(0);
export const offlineSinceMs = signal<number | null>(null);
export const isRunning = computed(() => liveSwitch.value && !hidden.value);

export interface Live<T> extends FeedState<T> {
  refresh(): void;
}

const page: FeedPage = {
  isRunning: (always) => !hidden.peek() && (always || liveSwitch.peek()),
  heard,
  failed,
};

/** Any call that came through, or did not, tells whether the hub is there. */
export function heard(): void {
  lastHeardMs.value = Date.now();
  offlineSinceMs.value = null;
}

function unheard(): void {
  offlineSinceMs.value ??= Date.now();
}

/** A call did not bring what was asked for: the hub is away, or it has said so itself. */
export function failed(problem: Problem): void {
  if (problem.isOffline) unheard();
  else heard();
}

/** In the order in which they were last looked at. */
const feeds = new Map<string, Feed<unknown>>();
/** Of those that nobody looks at, so many keep what they know, for the way back. */
const MAX_IDLE = 20;

export function feedOf<T>(path: string): Feed<T> {
  const known = feeds.get(path);
  if (known !== undefined) return known as Feed<T>;
  const made = new Feed<T>(asker<T>(path), page);
  feeds.set(path, made as Feed<unknown>);
  return made;
}

/** An answer that says the same as the one before is the same: nothing is read or drawn anew for it, however large it is. */
function asker<T>(path: string): (over: AbortSignal) => Promise<T> {
  let last: { readonly text: string; readonly data: T } | undefined;
  return async (over) => {
    const text = await callText(path, { signal: over });
    if (last?.text !== text) last = { text, data: JSON.parse(text) as T };
    return last.data;
  };
}

/** Looks at a feed; returns how to look away. */
export function watch<T>(path: string, feed: Feed<T>, watching: Watching): () => void {
  // It may have been forgotten between the first drawing and this.
  if (!feeds.has(path)) feeds.set(path, feed as Feed<unknown>);
  const leave = feed.watch(watching);
  return () => {
    leave();
    if (!feed.idle || feeds.get(path) !== feed) return;
    feeds.delete(path);
    feeds.set(path, feed as Feed<unknown>);
    forgetIdle(MAX_IDLE);
  };
}

function forgetIdle(kept: number): void {
  const idle = [...feeds].filter(([, feed]) => feed.idle);
  for (const [path] of idle.slice(0, Math.max(0, idle.length - kept))) feeds.delete(path);
}

// Also those that are waited for while the switch is off.
effect(() => {
  liveSwitch.value;
  if (!hidden.value) for (const feed of feeds.values()) feed.wake();
});

/** Forgets what is kept of pages that nobody looks at. */
export function forgetKept(): void {
  forgetIdle(0);
}

// What one token was shown is not for the next; what is on the screen is asked for anew.
effect(() => {
  token.value;
  forgetKept();
  refreshAll();
});

const NOTHING: ReadonlySignal<FeedState<never>> = signal({ data: undefined, problem: undefined, atMs: 0 });

/** What the path answers, now and from now on; null asks for nothing. `everyMs` Infinity: once. */
export function useLive<T>(path: string | null, everyMs = 3_000, o: Pick<Watching, "always"> = {}): Live<T> {
  const { always = false } = o;
  const feed = path === null ? null : feedOf<T>(path);
  useEffect(
    () => (path === null || feed === null ? undefined : watch(path, feed, { everyMs, always })),
    [feed, everyMs, always],
  );
  const state = (feed?.state ?? NOTHING).value as FeedState<T>;
  return { ...state, refresh: feed?.refresh ?? (() => undefined) };
}

/** What the path answers from now on, asked once: for what is decided by it, an answer that was kept from before is none. */
export function useFresh<T>(path: string | null): Live<T> {
  const live = useLive<T>(path, Number.POSITIVE_INFINITY);
  const [openedMs] = useState(Date.now);
  useEffect(() => live.refresh(), [path]);
  return live.atMs >= openedMs ? live : { ...live, data: undefined };
}

/** Asks again at once for everything that is on the screen. */
export function refreshAll(): void {
  for (const feed of feeds.values()) if (!feed.idle) feed.refresh();
}
