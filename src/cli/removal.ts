/** Removing what cannot be got back: what goes with it is said first, and nothing happens unless that is agreed to. */
import type { Job } from "../hub/jobs.js";
import { BusError } from "../model/errors.js";
import type { Backend } from "./backend.js";
import { demandConsent } from "./consent.js";
import { finishedWithBar } from "./jobs.js";
import type { ConsentOptions, Session } from "./session.js";

export interface Removal<R extends object> {
  /** On the hub. */
  readonly path: string;
  readonly body?: object;
  /** What goes with it, in a sentence. */
  readonly loss: (removed: R) => string;
  /** What stands in its way as things are. */
  readonly obstacles?: (removed: R) => readonly string[] | undefined;
  /** What is said when it is gone. */
  readonly done: (removed: R) => string;
  /** It may take long: it is a job of the hub's, whose progress is shown under this title. */
  readonly jobTitle?: string;
}

export async function removeIfAgreed<R extends object>(
  session: Session<ConsentOptions>,
  removal: Removal<R>,
): Promise<void> {
  const { out, options, signal } = session;
  const { path, body, loss, obstacles: obstaclesOf, done, jobTitle } = removal;
  const backend = await session.connect();
  session.soFar = "nothing was removed";
  const preview = await backend.post<R>(path, { ...body, dryRun: true });
  const obstacles = obstaclesOf?.(preview);
  const refusal = obstacles === undefined ? "" : ` As it is it would be refused: ${obstacles.join("; ")}.`;
  if (options.dryRun) return out.value(preview, `${loss(preview)}${refusal} Nothing was changed.`);
  if (obstacles !== undefined)
    throw new BusError("WRITE_CONFLICT", obstacles.join("; "), { retryable: false });
  await demandConsent(`${loss(preview)} Remove it?`, { yes: options.yes ?? false, signal });
  session.soFar = undefined;
  const removed =
    jobTitle === undefined
      ? await backend.post<R>(path, { ...body, dryRun: false })
      : await removedByJob<R>(session, backend, path, jobTitle);
  out.value(removed, done(removed));
}

async function removedByJob<R>(session: Session, backend: Backend, path: string, title: string): Promise<R> {
  session.soFar = "what is gone is gone, and the same command goes on with the rest";
  const { job } = await backend.post<{ job: Job }>(path, { background: true });
  return (await finishedWithBar(session, backend, job, title)) as R;
}
