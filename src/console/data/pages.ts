/**
 * A list page by page: the first, and as many after it as were asked for. Every page is a feed of its own, found by what the one
 * before it says, so that all of them are brought up to date together: nothing that is gone stays, and nothing falls between two.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { seg } from "./api.js";
import type { Feed } from "./feed.js";
import { feedOf, type Live, refreshAll, watch } from "./live.js";
import type { Problem } from "./problem.js";
import type { Items } from "./shapes.js";

export interface Pages<T, P extends Items<T>> extends Live<P> {
  /** Of all pages, one after the other. `data` is the first page. */
  readonly items: readonly T[];
  readonly pages: readonly P[];
  /** There are more, and nothing is on its way. */
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  /** Why a later page cannot be had. */
  readonly stopped: Problem | undefined;
  more(): void;
}

/** `after` is the parameter that takes the `next` of the page before. */
export function usePages<T, P extends Items<T>>(
  path: string,
  everyMs: number,
  o: { readonly after: string; readonly idOf: (item: T) => string },
): Pages<T, P> {
  const [asked, setAsked] = useState({ path, pages: 1 });
  const wanted = asked.path === path ? asked.pages : 1;
  const chain = chainOf<P>(path, wanted, o.after);
  useWatches(chain, everyMs);
  // While one page is not there yet, the list that was whole before stays.
  const whole = useRef<{ readonly path: string; readonly pages: readonly P[] }>({ path, pages: [] });
  const found = chain.flatMap(({ feed }) => feed.state.value.data ?? []);
  const isWhole = found.length === chain.length;
  if (isWhole || whole.current.path !== path) whole.current = { path, pages: found };
  const pages = found.length > whole.current.pages.length ? found : whole.current.pages;
  const [first, ...later] = chain.map(({ feed }) => feed.state.value);
  const stopped = later.find(({ data, problem }) => data === undefined && problem?.isOffline === false);
  return {
    data: first?.data,
    problem: first?.problem,
    atMs: first?.atMs ?? 0,
    refresh: refreshAll,
    pages: first?.data === undefined ? [] : pages,
    items: first?.data === undefined ? [] : together(pages, o.idOf),
    hasMore: isWhole && isPlace(found.at(-1)?.next),
    isLoading: !isWhole && first?.data !== undefined && stopped === undefined,
    stopped: stopped?.problem,
    more: () => setAsked({ path, pages: wanted + 1 }),
  };
}

/** Looks at the pages of the chain, and goes on looking at those that stay in it. */
function useWatches<P>(chain: readonly Link<P>[], everyMs: number): void {
  const watched = useRef(new Map<string, () => void>());
  useEffect(() => {
    const known = watched.current;
    for (const { path, feed } of chain) if (!known.has(path)) known.set(path, watch(path, feed, { everyMs }));
    for (const [path, leave] of known) {
      if (chain.some((link) => link.path === path)) continue;
      known.delete(path);
      leave();
    }
  }, [chain.map(({ path }) => path).join("\n")]);
  useEffect(
    () => () => {
      for (const leave of watched.current.values()) leave();
    },
    [],
  );
}

interface Link<P> {
  readonly path: string;
  readonly feed: Feed<P>;
}

/** As far as it is known: where a page begins, the one before it says. */
function chainOf<P extends Items<unknown>>(path: string, wanted: number, after: string): Link<P>[] {
  const chain = [{ path, feed: feedOf<P>(path) }];
  while (chain.length < wanted) {
    const next = chain.at(-1)?.feed.state.value.data?.next;
    if (!isPlace(next)) break;
    const own = `${path}&${after}=${seg(String(next))}`;
    chain.push({ path: own, feed: feedOf<P>(own) });
  }
  return chain;
}

function isPlace(next: string | number | null | undefined): boolean {
  return next !== null && next !== undefined;
}

/** Pages are asked for one by one: what moved from one into the other meanwhile stands in the first. */
function together<T>(pages: readonly Items<T>[], idOf: (item: T) => string): readonly T[] {
  const [first, ...later] = pages;
  if (first === undefined || later.length === 0) return first?.items ?? [];
  const all = new Map<string, T>();
  for (const { items } of pages) {
    for (const item of items) if (!all.has(idOf(item))) all.set(idOf(item), item);
  }
  return [...all.values()];
}
