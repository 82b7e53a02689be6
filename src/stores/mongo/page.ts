/** Makes a page of the log out of documents: skips removed ranges and what they cover, stops when it has enough bytes. */
import type { Seq, StoredEvent } from "../../model/event.js";
import type { Page } from "../../ports/log.js";
import type { EventDocument } from "./collections.js";
import { storedEvent } from "./event-document.js";

export interface PageBounds {
  readonly after: Seq;
  readonly maxBytes: number;
  /** End of a removed range that begins below the page, or `after`. */
  readonly removedTo: Seq;
}

/** `documents` follow `after`, in order. */
export function pageOf(documents: readonly EventDocument[], bounds: PageBounds): Page {
  const events: StoredEvent[] = [];
  let bytes = 0;
  let removedTo = bounds.removedTo;
  let through = Math.max(bounds.after, removedTo);
  for (const document of documents) {
    if (document.to !== undefined) {
      removedTo = Math.max(removedTo, document.to);
      through = Math.max(through, removedTo);
    } else if (document.gone) {
      removedTo = Math.max(removedTo, document.seq);
      through = Math.max(through, removedTo);
    } else if (document.seq > removedTo) {
      if (bytes >= bounds.maxBytes) break;
      const event = storedEvent(document);
      events.push(event);
      bytes += event.size;
      through = event.seq;
    }
  }
  return { events, through };
}
