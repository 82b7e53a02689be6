/** How far work is that one request asks for, and the board of tasks alone tells of while it goes on. */

import { pause, systemClock } from "../model/clock.js";
import type { TaskReport } from "../model/task.js";
import type { Backend } from "./backend.js";

const LOOK_MS = 250;

/**
 * What `work` comes to; `onStats` is told what the task of that name says of itself meanwhile, as long as it may be looked at.
 * Where several have that name, nobody can say which one it is.
 */
export async function whileWatched<T>(
  backend: Backend,
  name: string,
  work: Promise<T>,
  onStats: (stats: TaskReport["stats"]) => void,
): Promise<T> {
  const over = new AbortController();
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const { items } = await backend.get<{ items: readonly TaskReport[] }>("/tasks");
      const [task, ...others] = items.filter((each) => each.name === name && each.state === "running");
      if (task !== undefined && others.length === 0 && !over.signal.aborted) onStats(task.stats);
      await pause(systemClock, LOOK_MS, over.signal);
    }
  };
  // Whoever may not look waits all the same.
  look().catch(() => undefined);
  try {
    return await work;
  } finally {
    over.abort();
  }
}
