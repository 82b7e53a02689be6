/** Entries of an outbox, made of a definition: what the bus would refuse fails in the transaction that makes it true (P10). */
import type { TopicDefinition } from "../model/topic.js";
import type { OutboxEntry } from "../ports/outbox.js";
import { checkPayload, keyOf } from "./payload-schema.js";

/**
 * An entry for the outbox of a topic that is defined in code: checked by its schema (SCHEMA_VIOLATION), with the key that the
 * definition gives it. One that is made by hand is checked when it is published, when its transaction is long over.
 *
 * @example
 * await outbox.add(outboxEntry(Placed, order, { id: order.id }), { session });
 */
export function outboxEntry<T>(
  topic: TopicDefinition<T>,
  payload: NoInfer<T>,
  options: Omit<OutboxEntry, "topic" | "payload">,
): OutboxEntry {
  const checked = checkPayload(topic, payload);
  const key = options.key ?? keyOf(topic, checked);
  return { ...options, topic: topic.name, payload: checked.stored, ...(key !== undefined && { key }) };
}
