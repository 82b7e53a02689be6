/**
 * Where one is: everything is in the address. Pages lie at `/` and below `/ui/` of the hub, so that no page takes the place of a
 * route of the interface.
 */
import { computed, signal } from "@preact/signals";
import { hubPath } from "../data/hub-path.js";

export interface Place {
  /** Decoded, without "ui": ["topics", "orders"]. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const address = signal(location.pathname + location.search);

addEventListener("popstate", () => {
  isClosing = false;
  const moved = location.pathname !== placePath(address.peek());
  address.value = location.pathname + location.search;
  if (moved) scrollWhenDrawn(kept().top ?? 0);
});

/** Going back takes a moment: a second press in it must not go back twice. */
let isClosing = false;

/** What an entry of the browser's history keeps. */
interface Kept {
  /** How far the page was scrolled when it was left. */
  readonly top?: number;
  /** The address that a panel was opened over: the entry before this one. */
  readonly under?: string;
}

function kept(): Kept {
  return (history.state as Kept | null) ?? {};
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
  const parts = url.pathname
    .slice(hubPath.length)
    .split("/")
    .filter((part) => part !== "");
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
  return `${hubPath}/${segments.length === 0 ? "" : `ui/${segments.join("/")}`}${search}`;
}

/** The address of a document. No path holds a key that is empty or nothing but dots: to browsers these are ways up. */
export function toDocument(view: string, key: string): string {
  return /^\.{0,2}$/.test(key) ? to("views", view, { key }) : to("views", view, key);
}

export function go(href: string, o: { readonly replace?: boolean; readonly over?: boolean } = {}): void {
  const here = location.pathname + location.search;
  if (href === here) return;
  if (o.replace) history.replaceState(history.state, "", href);
  else {
    const left: Kept = { ...kept(), top: content()?.scrollTop ?? 0 };
    const made: Kept | null = o.over ? { under: here } : null;
    history.replaceState(left, "");
    history.pushState(made, "", href);
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
  go(changed(changes), { replace: !o.push });
}

function changed(changes: Readonly<Record<string, string | number | null | undefined>>): string {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  return url.pathname + url.search;
}

/** Opens a panel that a part of the query names. While one is open, another takes its place. */
export function openOver(name: string, value: string | number): void {
  const isOpen = place.peek().query.has(name);
  go(changed({ [name]: value }), isOpen ? { replace: true } : { over: true });
}

/** Closes it by going back to the page as it was before, so that the next "back" leaves that page. */
export function closeOver(name: string): void {
  if (isClosing) return;
  const href = changed({ [name]: null });
  isClosing = kept().under === href;
  if (isClosing) history.back();
  else go(href, { replace: true });
}
