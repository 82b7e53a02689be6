/**
 * What the headers of a redriven event say. A group that holds keys back needs to know which dead letter an event was,
 * and which one came before it, so that it lets them in one after the other and nothing before its turn.
 */
import type { EventRecord, Seq } from "./event.js";
import { REDRIVE_GROUP_HEADER } from "./topic.js";

export interface Redriven {
  /** Only this group gets it. */
  readonly group: string;
  /** Seq of the event that was given up, or held back, in the first place. */
  readonly root: Seq;
  /** Root of the dead letter of its key that has to come before it; 0 if there is none. */
  readonly after: Seq;
  /** Dead letters up to this root are done with once it is: those between were discarded. */
  readonly through: Seq;
  /** Nothing to handle: it only says that what it stands for was discarded. */
  readonly skip: boolean;
}

const ROOT = "x-redrive-root";
const AFTER = "x-redrive-after";
const THROUGH = "x-redrive-through";
const SKIP = "x-redrive-skip";
const FIRST_SEQ = "x-redrive-seq";

type Headers = Readonly<Record<string, string>>;

export function redriveHeaders(redriven: Redriven): Headers {
  return {
    [REDRIVE_GROUP_HEADER]: redriven.group,
    [ROOT]: String(redriven.root),
    [AFTER]: String(redriven.after),
    [THROUGH]: String(redriven.through),
    ...(redriven.skip && { [SKIP]: "1" }),
  };
}

/** Null for an event that is not redriven for a group. Numbers that are missing are 0: it stands for no letter. */
export function redrivenOf(headers: Headers | undefined): Redriven | null {
  const group = headers?.[REDRIVE_GROUP_HEADER];
  if (headers === undefined || group === undefined) return null;
  const number = (name: string): Seq => Number(headers[name] ?? 0) || 0;
  const root = number(ROOT);
  return {
    group,
    root,
    after: number(AFTER),
    through: Math.max(root, number(THROUGH)),
    skip: SKIP in headers,
  };
}

/** For an event that comes back under its own key: which one it was, so that whoever keeps newest values knows how new it is. */
export function firstSeqHeader(event: Pick<EventRecord, "seq" | "headers">): Headers {
  return { [FIRST_SEQ]: String(firstSeqOf(event)) };
}

/** Whether it came back for the group that gave it up, and for no other. */
export function isForOneGroup(headers: Headers | undefined): boolean {
  return headers?.[REDRIVE_GROUP_HEADER] !== undefined;
}

/** The seq under which an event was first there, however often it was given up and came back. */
export function firstSeqOf({ seq, headers }: Pick<EventRecord, "seq" | "headers">): Seq {
  if (!isForOneGroup(headers)) return seq;
  const first = Number(headers?.[FIRST_SEQ] ?? headers?.[ROOT]);
  return Number.isSafeInteger(first) && first > 0 && first < seq ? first : seq;
}

/** The headers of the event as it was first published. */
export function withoutRedrive(headers: Headers | undefined): Headers {
  const own = new Set([REDRIVE_GROUP_HEADER, ROOT, AFTER, THROUGH, SKIP, FIRST_SEQ]);
  return Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => !own.has(name)));
}
