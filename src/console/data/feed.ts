/**
 * A feed: what one path answers, asked for again and again while somebody looks, once for all who do.
 *
 *   idle --watch--> due --timer--> asking --answer--> due …      asking --refresh--> asking, and once more after it
 *   any  --last one leaves--> idle: what is being asked for is given up
 *
 * What was shown stays when the hub is away or stumbles; what it refuses is taken away. Knows neither page nor address:
 * `data/live.ts` has them.
 */
import { signal } from "@preact/signals";
import { type Problem, problemFrom } from "./problem.js";

export interface FeedState<T> {
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  /** When it was last answered; changes with each answer. */
  readonly atMs: number;
}

export interface Watching {
  /** Infinity: once. */
  readonly everyMs: number;
  /** Also while live updates are switched off: it is waited for. */
  readonly always?: boolean;
}

/** What a feed is told of the page, and tells it. */
export interface FeedPage {
  isRunning(always: boolean): boolean;
  heard(): void;
  failed(problem: Problem): void;
}

const FRESH_MS = 2_000;
const RETRY_MS = [500, 1_000, 2_000, 3_000];
/** A hub that has not answered until then, and keeps the line open, is as good as away. */
const ANSWER_MS = 60_000;
/** What takes the hub long is asked for less often: so many times as long as an answer took, it is left alone. */
const REST = 4;
/** What one has no right to is asked for this seldom. */
const REFUSED_MS = 60_000;
const FORBIDDEN = 403;

export class Feed<T> {
  readonly state = signal<FeedState<T>>({ data: undefined, problem: undefined, atMs: 0 });
  readonly #ask: (over: AbortSignal) => Promise<T>;
  readonly #page: FeedPage;
  readonly #watchers = new Set<Watching>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  /** Somebody wants to know what is true from now on, whatever is being answered, and whether or not updates are on. */
  #isWanted = false;
  #failures = 0;
  #tookMs = 0;

  constructor(ask: (over: AbortSignal) => Promise<T>, page: FeedPage) {
    this.#ask = ask;
    this.#page = page;
  }

  watch(watching: Watching): () => void {
    const watcher = { ...watching };
    this.#watchers.add(watcher);
    // What is asked for once is asked for again when somebody comes back to it.
    const { atMs } = this.state.peek();
    this.#schedule(Date.now() - atMs > FRESH_MS ? 0 : this.#dueInMs());
    return () => {
      this.#watchers.delete(watcher);
      if (!this.idle) return;
      clearTimeout(this.#timer);
      this.#isWanted = false;
      // The next page may want the same: it says so in this very turn.
      setTimeout(() => {
        if (this.idle) this.#asking?.abort();
      }, 0);
    };
  }

  refresh = (): void => {
    this.#isWanted = true;
    this.#schedule(0);
  };

  wake(): void {
    if (!this.idle) this.#schedule(this.#dueInMs());
  }

  get idle(): boolean {
    return this.#watchers.size === 0;
  }

  #everyMs(): number {
    const leastMs = this.state.peek().problem?.status === FORBIDDEN ? REFUSED_MS : this.#tookMs * REST;
    return Math.max(leastMs, Math.min(...[...this.#watchers].map(({ everyMs }) => everyMs)));
  }

  #dueInMs(): number {
    const { atMs } = this.state.peek();
    return atMs === 0 ? 0 : Math.max(0, atMs + this.#everyMs() - Date.now());
  }

  #schedule(inMs: number): void {
    clearTimeout(this.#timer);
    if (!Number.isFinite(inMs)) return;
    this.#timer = setTimeout(() => void this.#askNow(), inMs);
  }

  #mayAsk(): boolean {
    if (this.#asking !== undefined || this.idle) return false;
    const isFirst = this.state.peek().atMs === 0;
    const always = [...this.#watchers].some((watcher) => watcher.always === true);
    return isFirst || this.#isWanted || this.#page.isRunning(always);
  }

  async #askNow(): Promise<void> {
    if (!this.#mayAsk()) return;
    this.#isWanted = false;
    const askedMs = Date.now();
    const over = new AbortController();
    this.#asking = over;
    let isLate = false;
    const deadline = setTimeout(() => {
      isLate = true;
      over.abort();
    }, ANSWER_MS);
    try {
      this.#answered(await this.#ask(over.signal), askedMs);
    } catch (error) {
      // Given up, because nobody was there: who came since wants it anew.
      if (over.signal.aborted && !isLate) this.#isWanted = true;
      else if (!this.idle) this.#failed(problemFrom(error));
    } finally {
      clearTimeout(deadline);
      this.#asking = undefined;
    }
    if (!this.idle) this.#schedule(this.#nextMs());
  }

  #nextMs(): number {
    if (this.#isWanted && this.#failures === 0) return 0;
    return this.#failures > 0
      ? (RETRY_MS[Math.min(this.#failures, RETRY_MS.length) - 1] ?? 0)
      : this.#everyMs();
  }

  #answered(data: T, askedMs: number): void {
    const atMs = Date.now();
    this.#failures = 0;
    this.#tookMs = atMs - askedMs;
    this.#page.heard();
    this.state.value = { data, problem: undefined, atMs };
  }

  #failed(problem: Problem): void {
    const { data, atMs } = this.state.peek();
    this.#failures = problem.isOffline ? this.#failures + 1 : 0;
    this.state.value = {
      data: problem.isRefusal ? undefined : data,
      problem,
      atMs: problem.isOffline ? atMs : Date.now(),
    };
    this.#page.failed(problem);
  }
}
