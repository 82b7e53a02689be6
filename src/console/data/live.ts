/**
 * Live data: each path is asked for again and again while somebody looks at it, once for all who do.
 *
 * Nothing is asked for while the tab is hidden or the switch is off. When the hub is not there, what was shown stays,
 * and it is tried again, more and more slowly up to a few seconds.
 */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "./api.js";
import { dropToken, token } from "./credentials.js";
import { type Problem, problemFrom } from "./problem.js";

export const liveSwitch = signal(true);
const hidden = signal(document.hidden);
document.addEventListener("visibilitychange", () => {
  hidden.value = document.hidden;
});

/** When the hub was last heard of, and since when it is not. */
export const lastHeardMs = signal(0);
export const offlineSinceMs = signal<number | null>(null);
export const isRunning = computed(() => liveSwitch.value && !hidden.value);

const FRESH_MS = 2_000;
const RETRY_MS = [500, 1_000, 2_000, 3_000];

export interface Live<T> {
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  /** Changes with each answer. */
  readonly atMs: number;
  refresh(): void;
}

interface State<T> {
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  readonly atMs: number;
}

class Feed<T> {
  readonly state = signal<State<T>>({ data: undefined, problem: undefined, atMs: 0 });
  readonly #path: string;
  readonly #watchers = new Map<object, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking = false;
  #failures = 0;

  constructor(path: string) {
    this.#path = path;
  }

  watch(everyMs: number): () => void {
    const watcher = {};
    this.#watchers.set(watcher, everyMs);
    // What is asked for once is asked for again when somebody comes back to it.
    const { atMs } = this.state.peek();
    this.#schedule(Date.now() - atMs > FRESH_MS ? 0 : this.#dueInMs());
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) clearTimeout(this.#timer);
    };
  }

  refresh = (): void => this.#schedule(0);

  wake(): void {
    if (this.#watchers.size > 0) this.#schedule(this.#dueInMs());
  }

  get idle(): boolean {
    return this.#watchers.size === 0;
  }

  #everyMs(): number {
    return Math.min(...this.#watchers.values());
  }

  #dueInMs(): number {
    const { atMs } = this.state.peek();
    return atMs === 0 ? 0 : Math.max(0, atMs + this.#everyMs() - Date.now());
  }

  #schedule(inMs: number): void {
    clearTimeout(this.#timer);
    if (!Number.isFinite(inMs)) return;
    this.#timer = setTimeout(() => void this.#ask(), inMs);
  }

  async #ask(): Promise<void> {
    const first = this.state.peek().atMs === 0;
    if (this.#asking || this.idle || (!first && !isRunning.peek())) return;
    this.#asking = true;
    try {
      const data = await call<T>(this.#path);
      heard();
      this.#failures = 0;
      this.state.value = { data, problem: undefined, atMs: Date.now() };
    } catch (error) {
      this.#failed(problemFrom(error));
    } finally {
      this.#asking = false;
    }
    const retryMs = RETRY_MS[Math.min(this.#failures, RETRY_MS.length) - 1] ?? 0;
    if (!this.idle) this.#schedule(this.#failures > 0 ? retryMs : this.#everyMs());
  }

  #failed(problem: Problem): void {
    if (problem.isOffline) {
      this.#failures++;
      unheard();
      const { data, atMs } = this.state.peek();
      this.state.value = { data, problem, atMs };
      return;
    }
    heard();
    if (problem.status === 401) dropToken();
    this.#failures = 0;
    this.state.value = { data: undefined, problem, atMs: Date.now() };
  }
}

/** Any call that came through, or did not, tells whether the hub is there. */
export function heard(): void {
  lastHeardMs.value = Date.now();
  offlineSinceMs.value = null;
}

export function unheard(): void {
  offlineSinceMs.value ??= Date.now();
}

const feeds = new Map<string, Feed<unknown>>();
const MAX_FEEDS = 200;

function feedOf<T>(path: string): Feed<T> {
  const known = feeds.get(path);
  if (known !== undefined) return known as Feed<T>;
  for (const [name, feed] of feeds) {
    if (feeds.size < MAX_FEEDS) break;
    if (feed.idle) feeds.delete(name);
  }
  const made = new Feed<T>(path);
  feeds.set(path, made as Feed<unknown>);
  return made;
}

effect(() => {
  if (isRunning.value) for (const feed of feeds.values()) feed.wake();
});

// What one token was shown is not for the next.
effect(() => {
  token.value;
  for (const [path, feed] of feeds) if (feed.idle) feeds.delete(path);
});

const NOTHING: ReadonlySignal<State<never>> = signal({ data: undefined, problem: undefined, atMs: 0 });

/** What the path answers, now and from now on; null asks for nothing. `everyMs` Infinity: once. */
export function useLive<T>(path: string | null, everyMs = 3_000): Live<T> {
  const feed = path === null ? null : feedOf<T>(path);
  useEffect(() => feed?.watch(everyMs), [feed, everyMs]);
  const state = (feed?.state ?? NOTHING).value as State<T>;
  return { ...state, refresh: feed?.refresh ?? (() => undefined) };
}

/** Asks again at once for everything that is on the screen. */
export function refreshAll(): void {
  for (const feed of feeds.values()) if (!feed.idle) feed.refresh();
}
