/** Events as a list that grows keeps them: of a large payload only what is shown of it. Whoever opens one fetches it whole. Pure. */
import { jsonStart } from "./json-start.js";
import type { EventRecord } from "./shapes.js";

/** A thousand of these may be kept. */
const LARGE_CHARS = 4_096;
/** More than a row shows. */
const KEPT_CHARS = 500;

export function lightEvent(json: string): EventRecord {
  const event = JSON.parse(json) as EventRecord;
  if (json.length <= LARGE_CHARS) return event;
  const { payload } = event;
  const start = typeof payload === "string" ? payload.slice(0, KEPT_CHARS) : jsonStart(payload, KEPT_CHARS);
  // Written and read anew: a part of a text keeps the whole of it in memory.
  return { ...event, payload: JSON.parse(JSON.stringify(start)) as unknown };
}
