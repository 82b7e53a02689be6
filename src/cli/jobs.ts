/** Waits for work that goes on behind a request, and for a hub that is away meanwhile. */
import type { Job } from "../hub/jobs.js";
import { pause, systemClock } from "../model/clock.js";
import type { Backend } from "./backend.js";
import { codeOf, failure } from "./exit.js";
import { Progress } from "./progress.js";
import type { Session } from "./session.js";

const LOOK_MS = 250;
/** A hub that is restarted is there again by then. */
const AWAY_MS = 15_000;
const AWAY: ReadonlySet<string> = new Set(["STORE_UNAVAILABLE", "CLOSED"]);

/** What came of it. How far it is can be seen while it goes on. `soFar` of the session is what to do if it does not. */
export async function finishedWithBar(
  session: Session,
  backend: Backend,
  started: Job,
  title: string,
): Promise<unknown> {
  const progress = new Progress(title, 1_000, "share");
  const path = `/jobs/${encodeURIComponent(started.id)}`;
  const again = session.soFar ?? "the same command begins it again";
  try {
    for (let job = started; ; job = await looked(backend, path, session)) {
      if (job.state === "done") return job.result;
      if (job.state !== "running") {
        const { code = "ABORTED", detail = endOf(job) } = job.error ?? {};
        throw failure(code, detail, job.state === "failed" ? {} : { hint: again });
      }
      const { events, total } = job.progress as { events?: number; total?: number };
      progress.at(events !== undefined && total ? (events / total) * 1_000 : 0);
      await pause(systemClock, LOOK_MS, session.signal);
      if (session.signal.aborted) throw failure("ABORTED", leftBehind(backend, job, path, again));
    }
  } finally {
    progress.end();
  }
}

/** It is written down in the store: also the next hub can tell of it. */
async function looked(backend: Backend, path: string, { out, signal }: Session): Promise<Job> {
  const sinceMs = systemClock.steady();
  for (let tries = 0; ; tries++) {
    try {
      return await backend.get<Job>(path);
    } catch (error) {
      const isOver = signal.aborted || systemClock.steady() - sinceMs >= AWAY_MS;
      if (isOver || !AWAY.has(codeOf(error))) throw error;
      if (tries === 0) out.note(`${backend.name} does not answer; waiting for it to come back`);
      await pause(systemClock, LOOK_MS, signal);
    }
  }
}

function endOf({ kind, state }: Job): string {
  return state === "lost" ? `the hub that did the ${work(kind)} is gone` : `the ${work(kind)} was ${state}`;
}

/** A hub of this process's own ends with it, and its jobs with that. */
function leftBehind({ bus, url }: Backend, { kind }: Job, path: string, again: string): string {
  if (bus !== undefined) return `the ${work(kind)} was stopped; ${again}`;
  return `the ${work(kind)} goes on; look at ${url}${path}`;
}

function work(kind: string): string {
  return kind === "remove" ? "removal" : kind;
}
