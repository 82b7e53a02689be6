/** Waits for work that goes on behind a request, and asks for its end when the command is interrupted. */
import type { Job } from "../hub/jobs.js";
import { pause, systemClock } from "../model/clock.js";
import type { Backend } from "./backend.js";
import { failure } from "./exit.js";

const LOOK_MS = 250;

/** What came of it. `onShare` is told how far it is, from 0 to 1. */
export async function finished(
  backend: Backend,
  started: Job,
  onShare: (share: number) => void,
  signal: AbortSignal,
): Promise<unknown> {
  const path = `/jobs/${encodeURIComponent(started.id)}`;
  for (let job = started; ; job = await backend.get<Job>(path)) {
    switch (job.state) {
      case "running":
        break;
      case "done":
        return job.result;
      default:
        throw failure(job.error?.code ?? "ABORTED", job.error?.detail ?? `the ${job.kind} was ${job.state}`);
    }
    const { events, total } = job.progress as { events?: number; total?: number };
    onShare(events !== undefined && total ? events / total : 0);
    await pause(systemClock, LOOK_MS, signal);
    if (signal.aborted) throw failure("ABORTED", `the ${job.kind} goes on; look at ${backend.url}${path}`);
  }
}
