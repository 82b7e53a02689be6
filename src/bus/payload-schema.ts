/** Payloads against the schema of a topic's definition; what is stored of them is decided in schema/payload-check. */
import type { TopicDefinition } from "../model/topic.js";
import { definitionCheck, violated } from "../schema/payload/payload-check.js";

export interface DefinedPayload {
  readonly stored: unknown;
  /** What the key is taken from; undefined for a tombstone, which says nothing of its key. */
  readonly keyed: unknown;
}

/** SCHEMA_VIOLATION with paths and values if it does not fit. `null` in a compacted topic is a tombstone: it fits. */
export function checkPayload(
  { name, schema, compaction }: TopicDefinition,
  payload: unknown,
): DefinedPayload {
  if (payload === null && compaction === true) return { stored: null, keyed: undefined };
  if (schema === undefined) return { stored: payload, keyed: payload };
  const checked = definitionCheck(schema)(payload);
  if (!checked.fits) throw violated(`"${name}"`, checked.violations, { topic: name });
  return { stored: checked.stored, keyed: checked.value };
}

/** The key that a definition gives a payload, if any. */
export function keyOf(definition: TopicDefinition, { keyed }: DefinedPayload): string | undefined {
  return keyed === undefined ? undefined : definition.key?.(keyed);
}
