/** Makes a page of the log out of documents: skips removed ranges and what they cover, stops when it has enough bytes. */
import { type Seq, StoredEvent } from "../../../model/event.js";
import type { Page } from "../../../ports/log.js";
import type { Row } from "./raw-row.js";

export interface PageBounds {
  readonly after: Seq;
  readonly maxBytes: number;
  /** End of a removed range that begins below the page, or `after`. */
  readonly removedTo: Seq;
}

/** `rows` follow `after`, in order. */
export function pageOf(rows: readonly Row[], bounds: PageBounds): Page {
  const events: StoredEvent[] = [];
  let bytes = 0;
  let removedTo = bounds.removedTo;
  let through = Math.max(bounds.after, removedTo);
  for (const row of rows) {
    if (!(row instanceof StoredEvent)) {
      removedTo = Math.max(removedTo, row.to ?? row.seq);
      through = Math.max(through, removedTo);
    } else if (row.seq > removedTo) {
      if (bytes >= bounds.maxBytes) break;
      events.push(row);
      bytes += row.size;
      through = row.seq;
    }
  }
  return { events, through };
}
