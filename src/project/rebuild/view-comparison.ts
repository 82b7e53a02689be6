/** Two views document by document: what a rebuild would change. */
import { BusError } from "../../model/errors.js";
import { canonicalText, type JsonObject } from "../../model/json.js";
import type { Documents, ViewDocument } from "../../ports/documents.js";

/** A document in which two builds of a view differ. */
export interface ViewDifference {
  readonly key: string;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

export interface Comparison {
  readonly same: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  readonly samples: readonly ViewDifference[];
}

const PAGE = 500;

/** Both views in key order, side by side. Versions and times do not count: only what the documents say. */
export async function compareViews(
  documents: Documents,
  from: string,
  to: string,
  samples: number,
  signal: AbortSignal,
): Promise<Comparison> {
  const counts = { same: 0, added: 0, removed: 0, changed: 0 };
  const shown: ViewDifference[] = [];
  const before = all(documents, from);
  const after = all(documents, to);
  let old = (await before.next()).value;
  let now = (await after.next()).value;
  while (old !== undefined || now !== undefined) {
    if (signal.aborted) throw new BusError("ABORTED", "the comparison was stopped");
    const order =
      old === undefined
        ? 1
        : now === undefined
          ? -1
          : Buffer.compare(Buffer.from(old.key), Buffer.from(now.key));
    const pair = { old: order <= 0 ? old : undefined, now: order >= 0 ? now : undefined };
    const kind = kindOf(pair.old, pair.now);
    counts[kind]++;
    if (kind !== "same" && shown.length < samples) {
      const key = (pair.old ?? (pair.now as ViewDocument)).key;
      shown.push({ key, before: pair.old?.fields ?? null, after: pair.now?.fields ?? null });
    }
    if (order <= 0) old = (await before.next()).value;
    if (order >= 0) now = (await after.next()).value;
  }
  return { ...counts, samples: shown };
}

function kindOf(
  old: ViewDocument | undefined,
  now: ViewDocument | undefined,
): "same" | "added" | "removed" | "changed" {
  if (old === undefined) return "added";
  if (now === undefined) return "removed";
  return canonicalText(old.fields) === canonicalText(now.fields) ? "same" : "changed";
}

async function* all(documents: Documents, view: string): AsyncGenerator<ViewDocument, undefined> {
  for (let after: string | undefined; ; ) {
    const page = await documents.find(view, { limit: PAGE, ...(after !== undefined && { after }) });
    yield* page.documents;
    if (page.next === null) return undefined;
    after = page.next;
  }
}
