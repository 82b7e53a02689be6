/** Payloads against the schema of a topic's definition. */
import { BusError } from "../model/errors.js";
import type { TopicDefinition } from "../model/topic.js";

/** The payload as the schema gives it back; SCHEMA_VIOLATION with paths otherwise. */
export function checkPayload(definition: TopicDefinition, payload: unknown): unknown {
  const result = definition.schema?.safeParse(payload);
  if (result === undefined) return payload;
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => ({
    path: path.map(String).join("."),
    message,
  }));
  const first = issues[0];
  throw new BusError(
    "SCHEMA_VIOLATION",
    `the payload does not fit ${definition.name}: ${first?.path ? `${first.path}: ` : ""}${first?.message ?? "invalid"}`,
    { details: { issues } },
  );
}
