/**
 * The key that a topic's definition makes of a payload, as on a bus: by it events stay in order (P4). What a payload must look
 * like is the hub's to say, unless the key cannot be made otherwise.
 */
import { BusError } from "../model/errors.js";
import type { PublishOptions } from "../model/event-bus.js";
import type { TopicDefinition, TopicRef } from "../model/topic.js";

/** The options of a publish with the definition's key, where they name none. */
export function withDefinedKey<O extends PublishOptions>(topic: TopicRef, payload: unknown, options: O): O {
  if (typeof topic === "string" || topic.key === undefined || options.key !== undefined) return options;
  const key = definedKey(topic, payload);
  return key === undefined ? options : { ...options, key };
}

function definedKey(definition: TopicDefinition, payload: unknown): string | undefined {
  const { name, schema, compaction } = definition;
  // A tombstone says nothing of its key.
  if (payload === null && compaction === true) return undefined;
  if (schema === undefined) return definition.key?.(payload);
  const read = schema.safeParse(payload);
  if (read.success) return definition.key?.(read.data);
  const issues = read.error.issues.map(({ path, message }) => ({ path: placeOf(path), message }));
  const [first] = issues;
  const where = first === undefined ? "invalid" : `${first.path}: ${first.message}`;
  throw new BusError("SCHEMA_VIOLATION", `the payload does not fit "${name}": ${where}`, {
    details: { topic: name, issues },
  });
}

function placeOf(path: readonly PropertyKey[]): string {
  return `payload${path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("")}`;
}
