/**
 * Which documents a query asks for, in which order, and where a page goes on. Pure.
 *
 * A page ends at a place (order value and key), not at a number of documents, so that writes between two pages
 * neither repeat nor hide the documents that stay where they are.
 */
import { BusError } from "../../model/errors.js";
import type {
  DocumentPage,
  DocumentQuery,
  FieldCondition,
  FieldValue,
  ViewDocument,
} from "../../ports/documents.js";
import { compareValues, rankOf, valueAt } from "./field-order.js";
import { compareText } from "./text-order.js";

const KEY_FIELD = "_key";

interface Place {
  readonly value: unknown;
  readonly key: string;
}

export function runQuery(documents: Iterable<ViewDocument>, query: DocumentQuery): DocumentPage {
  const field = query.order?.field ?? KEY_FIELD;
  const sign = query.order?.descending ? -1 : 1;
  const compare = (a: Place, b: Place): number =>
    sign * (compareValues(a.value, b.value) || compareText(a.key, b.key));
  const conditions = Object.entries(query.where ?? {});
  const after = query.after === undefined ? undefined : placeOf(query.after);

  const found: { place: Place; document: ViewDocument }[] = [];
  for (const document of documents) {
    if (!conditions.every(([path, wanted]) => satisfies(fieldOf(document, path), wanted))) continue;
    const place = { value: fieldOf(document, field), key: document.key };
    if (after === undefined || compare(place, after) > 0) found.push({ place, document });
  }
  found.sort((a, b) => compare(a.place, b.place));
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  return {
    documents: page.map((entry) => entry.document),
    next: last === undefined || page.length === found.length ? null : tokenOf(last.place),
  };
}

function fieldOf(document: ViewDocument, path: string): unknown {
  return path === KEY_FIELD ? document.key : valueAt(document.fields, path);
}

function satisfies(value: unknown, wanted: FieldValue | FieldCondition): boolean {
  if (wanted === null || typeof wanted !== "object") return value === wanted;
  return (
    (wanted.eq === undefined || value === wanted.eq) &&
    (wanted.ne === undefined || value !== wanted.ne) &&
    (wanted.in === undefined || wanted.in.some((candidate) => value === candidate)) &&
    (wanted.gt === undefined || (sameType(value, wanted.gt) && compareValues(value, wanted.gt) > 0)) &&
    (wanted.gte === undefined || (sameType(value, wanted.gte) && compareValues(value, wanted.gte) >= 0)) &&
    (wanted.lt === undefined || (sameType(value, wanted.lt) && compareValues(value, wanted.lt) < 0)) &&
    (wanted.lte === undefined || (sameType(value, wanted.lte) && compareValues(value, wanted.lte) <= 0)) &&
    (wanted.prefix === undefined || (typeof value === "string" && value.startsWith(wanted.prefix))) &&
    (wanted.exists === undefined || (value !== undefined) === wanted.exists)
  );
}

function sameType(value: unknown, bound: string | number): boolean {
  return rankOf(value) === rankOf(bound);
}

/** JSON has no "missing", so it is told by a shorter array. Values without an order need not be kept. */
function tokenOf(place: Place): string {
  const rank = rankOf(place.value);
  const parts = rank === 0 ? [place.key] : [place.key, rank === 5 ? [] : place.value];
  return Buffer.from(JSON.stringify(parts), "utf8").toString("base64url");
}

function placeOf(token: string): Place {
  try {
    const parts: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    if (Array.isArray(parts) && typeof parts[0] === "string") return { key: parts[0], value: parts[1] };
  } catch {
    // Falls through: whatever is wrong with it, the caller hears the same.
  }
  throw new BusError("INVALID_OPTION", "`after` is not the `next` of an earlier page");
}
