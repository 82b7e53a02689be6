/** What a rebuild would take in and put in place of what, told before it begins; and what keeps it from beginning. */
import { BusError } from "../../model/errors.js";
import { checkHost, type Host } from "../host.js";
import { type Projection, projectionOf } from "../views/projection.js";
import { checkViewName } from "../views/view.js";
import { buildName, readPointer, suffixOf } from "../views/view-pointer.js";

export interface RebuildPreview {
  readonly view: string;
  readonly topic: string;
  /** Events in the log: what there is to be taken in. */
  readonly events: number;
  readonly from: string;
  /** As things are: another rebuild that begins first takes the name. */
  readonly to: string;
  /** Views that the same projector keeps: they are made anew with it. */
  readonly others: readonly string[];
}

/** Throws what `rebuildView` would throw, and changes nothing. */
export async function previewRebuild(host: Host, view: string): Promise<RebuildPreview> {
  checkHost(host);
  checkViewName(view);
  const projection = await projectionOf(host, view, {});
  await checkFree(host, projection);
  const { name, topic } = projection;
  const { current, number } = await readPointer(host.store.registry, name);
  const heads = await host.store.log.heads(topic);
  return {
    view,
    topic,
    events: heads.reduce((sum, { events }) => sum + events, 0),
    from: view + suffixOf(current, name),
    to: view + suffixOf(buildName(name, number + 1), name),
    others: (await projection.views()).filter((one) => one !== view),
  };
}

/** What stands under the names of the next build is somebody else's, and must not be written to, moved on or removed. */
export async function checkFree({ store, clock }: Host, projection: Projection): Promise<void> {
  const { name, topic } = projection;
  const build = buildName(name, (await readPointer(store.registry, name)).number + 1);
  const tables = (await projection.views()).map((view) => view + suffixOf(build, name));
  const table = (await store.documents.views()).find(({ view }) => tables.includes(view))?.view;
  const group = projection.group(build);
  const state = await store.groups.state({ topic, group }, { nowMs: clock.now() });
  if (table === undefined && state === null) return;
  const taken = table === undefined ? `the group ${group} of ${topic}` : `the view ${table}`;
  throw new BusError("WRITE_CONFLICT", `${taken} is there already, and its name is needed for a rebuild`, {
    retryable: false,
  });
}
