/**
 * Where one is: everything is in the address. Pages lie at `/` and below `/ui/`, so that no page takes the place of a
 * route of the interface.
 */
import { computed, signal } from "@preact/signals";

export interface Place {
  /** Decoded, without "ui": ["topics", "orders"]. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const address = signal(location.pathname + location.search);

addEventListener("popstate", ({ state }) => {
  const moved = location.pathname !== placePath(address.peek());
  address.value = location.pathname + location.search;
  if (moved) scrollWhenDrawn((state as Left | null)?.top ?? 0);
});

/** What an entry of the browser's history keeps of the page that was left. */
interface Left {
  readonly top: number;
}

/** The way back leads to where one was: what was known of the page is still there, and stands two frames later. */
function scrollWhenDrawn(top: number): void {
  requestAnimationFrame(() => requestAnimationFrame(() => content()?.scrollTo(0, top)));
}

function content(): HTMLElement | null {
  return document.getElementById("content");
}

export const place = computed<Place>(() => placeOf(address.value));

export function placeOf(href: string): Place {
  const url = new URL(href, "http://hub");
  const parts = url.pathname.split("/").filter((part) => part !== "");
  const own = parts[0] === "ui" ? parts.slice(1) : parts;
  return { path: own.map(decoded), query: url.searchParams };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page: to("topics", "orders", { tab: "tail" }). */
export function to(
  ...parts: readonly (string | Readonly<Record<string, string | number | undefined>>)[]
): string {
  const segments = parts.filter((part) => typeof part === "string").map(encodeURIComponent);
  const query = new URLSearchParams();
  for (const part of parts) {
    if (typeof part === "string") continue;
    for (const [name, value] of Object.entries(part)) if (value !== undefined) query.set(name, String(value));
  }
  const search = query.size > 0 ? `?${query}` : "";
  return segments.length === 0 ? `/${search}` : `/ui/${segments.join("/")}${search}`;
}

export function go(href: string, o: { readonly replace?: boolean } = {}): void {
  if (href === location.pathname + location.search) return;
  if (o.replace) history.replaceState(history.state, "", href);
  else {
    const left: Left = { top: content()?.scrollTop ?? 0 };
    history.replaceState(left, "");
    history.pushState(null, "", href);
  }
  const moved = new URL(href, location.href).pathname !== placePath(address.peek());
  address.value = href;
  if (moved) content()?.scrollTo(0, 0);
}

function placePath(href: string): string {
  return new URL(href, "http://hub").pathname;
}

/** A part of the query that a page keeps its choice in. */
export function query(name: string): string | null {
  return place.value.query.get(name);
}

/** Changes parts of the query; null or "" takes one out. Filters replace, so that "back" leaves the page. */
export function setQuery(
  changes: Readonly<Record<string, string | number | null | undefined>>,
  o: { readonly push?: boolean } = {},
): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  go(url.pathname + url.search, { replace: !o.push });
}
