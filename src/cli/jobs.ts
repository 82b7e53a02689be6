/** Waits for work that goes on behind a request, and asks for its end when the command is interrupted. */
import type { Job } from "../hub/jobs.js";
import { pause, systemClock } from "../model/clock.js";
import type { Backend } from "./backend.js";
import { failure } from "./exit.js";
import { Progress } from "./progress.js";

const LOOK_MS = 250;

/** What came of it. How far it is can be seen while it goes on. */
export async function finishedWithBar(
  backend: Backend,
  started: Job,
  title: string,
  signal: AbortSignal,
): Promise<unknown> {
  const progress = new Progress(title, 1_000, "share");
  try {
    return await finished(backend, started, (share) => progress.at(share * 1_000), signal);
  } finally {
    progress.end();
  }
}

/** `onShare` is told how far it is, from 0 to 1. */
async function finished(
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
        throw failure(job.error?.code ?? "ABORTED", job.error?.detail ?? endOf(job));
    }
    const { events, total } = job.progress as { events?: number; total?: number };
    onShare(events !== undefined && total ? events / total : 0);
    await pause(systemClock, LOOK_MS, signal);
    if (signal.aborted) throw failure("ABORTED", leftBehind(backend, job, path));
  }
}

function endOf({ kind, state }: Job): string {
  return state === "lost"
    ? `the hub that did the ${kind} is gone; the same command begins it again`
    : `the ${kind} was ${state}`;
}

/** A hub of this process's own ends with it, and its jobs with that. */
function leftBehind({ bus, url }: Backend, { kind }: Job, path: string): string {
  return bus === undefined
    ? `the ${kind} goes on; look at ${url}${path}`
    : `the ${kind} was stopped; the same command begins it again`;
}
