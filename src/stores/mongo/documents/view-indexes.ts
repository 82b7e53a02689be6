/** Indexes of views as the server has them, and back. */
import type { Collection } from "mongodb";
import type { ViewIndex } from "../../../ports/documents.js";
import { bsonPath, plainName } from "../bson-json.js";
import type { ViewRow } from "../collections.js";

const FIELDS_PREFIX = "fields.";

/** Ends with the key, which breaks ties in the order of pages; a document that lacks a field is not held to be unique. */
export async function createIndex(rows: Collection<ViewRow>, index: ViewIndex): Promise<void> {
  const paths = Object.entries(index.keys).map(
    ([field, direction]) => [storedField(field), direction] as const,
  );
  if (!index.unique) {
    await rows.createIndex(new Map([...paths, ["_id", 1]]));
    return;
  }
  const present = Object.fromEntries(paths.map(([path]) => [path, { $exists: true }]));
  await rows.createIndex(new Map(paths), { unique: true, partialFilterExpression: present });
}

function storedField(field: string): string {
  return field === "_key" ? "_id" : FIELDS_PREFIX + bsonPath(field);
}

/** The index as it was asked for; none if it is one of our own. */
export function viewIndex(index: { key: object; name?: string; unique?: boolean }): ViewIndex[] {
  const entries = Object.entries(index.key) as [string, 1 | -1][];
  const fields = entries.filter(([path]) => path.startsWith(FIELDS_PREFIX));
  if (fields.length === 0) return [];
  const keys = fields.map(([path, direction]) => {
    return [path.slice(FIELDS_PREFIX.length).split(".").map(plainName).join("."), direction] as const;
  });
  return [{ keys: Object.fromEntries(keys), ...(index.unique ? { unique: true } : undefined) }];
}
