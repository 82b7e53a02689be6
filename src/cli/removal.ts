/** Removing what cannot be got back: what goes with it is said first, and nothing happens unless that is agreed to. */
import { demandConsent } from "./consent.js";
import type { ConsentOptions, Session } from "./session.js";

export interface Removal<R extends object> {
  /** On the hub. */
  readonly path: string;
  readonly body?: object;
  /** What goes with it, in a sentence. */
  readonly loss: (removed: R) => string;
  /** What is said when it is gone. */
  readonly done: (removed: R) => string;
}

export async function removeIfAgreed<R extends object>(
  session: Session<ConsentOptions>,
  { path, body, loss, done }: Removal<R>,
): Promise<void> {
  const { out, options, signal } = session;
  const backend = await session.connect();
  const preview = await backend.post<R>(path, { ...body, dryRun: true });
  if (options.dryRun) return out.value(preview, `${loss(preview)} Nothing was changed.`);
  await demandConsent(`${loss(preview)} Remove it?`, { yes: options.yes ?? false, signal });
  const removed = await backend.post<R>(path, { ...body, dryRun: false });
  out.value(removed, done(removed));
}
