/**
 * What goes on right now, as one stream for all who look: the last snapshot, and how the numbers went. The past that the
 * hub kept comes first, so that charts are full at once; numbers it does not keep begin when the page is opened.
 */
import { computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, openStream } from "./api.js";
import { token } from "./credentials.js";
import { pause, readEvents } from "./event-stream.js";
import { failed, heard, isRunning } from "./live.js";
import { type Problem, problemFrom } from "./problem.js";
import type { Stats } from "./shapes.js";
import { type Moment, Rings, withSnapshot } from "./stats-past.js";

export const stats = signal<Stats | undefined>(undefined);
export const statsProblem = signal<Problem | undefined>(undefined);
/** Oldest first. */
export const moments = signal<readonly Moment[]>([]);
export const rings = new Rings();

const RETRY_MS = 1_000;
/** A snapshot comes every few seconds, if only to say that there is none. */
const SILENCE_MS = 20_000;
/** Where there are thousands of groups, a snapshot is large, and nobody can follow them by the second. */
const MANY_GROUPS = 1_000;
const QUICK_MS = 1_000;
const SLOW_MS = 5_000;
const watchers = signal(0);
const isWanted = computed(() => watchers.value > 0 && isRunning.value);

/** Keeps the stream open while the component is there. */
export function useStats(): Stats | undefined {
  useEffect(() => {
    watchers.value++;
    return () => {
      watchers.value--;
    };
  }, []);
  return stats.value;
}

effect(() => {
  if (!isWanted.value) return;
  token.value;
  const over = new AbortController();
  void follow(over.signal);
  return () => over.abort();
});

// What one token was shown is not for the next.
effect(() => {
  token.value;
  stats.value = undefined;
  statsProblem.value = undefined;
  moments.value = [];
  rings.clear();
});

async function follow(over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    try {
      const first = await call<Stats>("/stats", {
        signal: AbortSignal.any([over, AbortSignal.timeout(SILENCE_MS)]),
      });
      take(first, over);
      const path = `/stats/stream?everyMs=${first.groups.length > MANY_GROUPS ? SLOW_MS : QUICK_MS}`;
      await readEvents((signal) => openStream(path, { signal }), {
        over,
        silenceMs: SILENCE_MS,
        onEvent: (data) => take(JSON.parse(data) as Stats, over),
      });
    } catch (error) {
      if (over.aborted) return;
      const problem = problemFrom(error);
      statsProblem.value = problem;
      failed(problem);
      if (problem.isRefusal) return;
    }
    await pause(RETRY_MS, over);
  }
}

function take(snapshot: Stats, over: AbortSignal): void {
  if (over.aborted) return;
  heard();
  statsProblem.value = undefined;
  moments.value = withSnapshot(moments.peek(), snapshot);
  rings.take(snapshot);
  stats.value = snapshot;
}
