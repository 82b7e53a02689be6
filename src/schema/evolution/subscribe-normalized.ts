/** Reading with every event brought up to the newest version first. */
import type { EventRecord } from "../../model/event.js";
import type { Handler, Stop, SubscribeOptions } from "../../model/event-bus.js";
import type { Meters } from "../../model/meter.js";
import type { TopicDefinition, TopicRef } from "../../model/topic.js";
import { checkSource } from "../registry/catalog.js";
import { knownVersion } from "../registry/versioned-topic.js";
import { type NormalizeOptions, normalizeEvent } from "./upcast.js";

/** Of a bus it is needed that it subscribes. */
export interface Subscribable {
  subscribe<T = unknown>(
    topic: TopicRef<T>,
    group: string,
    handler: Handler<T>,
    options?: SubscribeOptions,
  ): Promise<Stop>;
  /** Told of the versions that are read. */
  readonly meters?: Pick<Meters, "active" | "normalized">;
}

/** What subscribeNormalized takes: how events are brought to the newest version, and all that subscribe takes. */
export type NormalizedOptions = NormalizeOptions & SubscribeOptions;

/**
 * Subscribes with a handler that sees the newest version only. Versions that take what the one before wrote need no step. An event that
 * cannot be brought there, because a step is missing or the result does not fit, fails like a handler that throws: it is retried, then dead-lettered.
 *
 * @example
 * await subscribeNormalized(bus, "orders.placed", "mailer", sendMail, { schemas, upcasts, from: "earliest" });
 */
export async function subscribeNormalized<T = unknown>(
  bus: Subscribable,
  topic: string | TopicDefinition<unknown, T>,
  group: string,
  handler: Handler<T>,
  options: NormalizedOptions,
): Promise<Stop> {
  checkSource("subscribeNormalized", options?.schemas);
  const { schemas, upcasts, target, unversioned, ...subscribing } = options;
  const normalizing = {
    schemas,
    ...(upcasts !== undefined && { upcasts }),
    ...(target !== undefined && { target }),
    ...(unversioned !== undefined && { unversioned }),
  };
  const { meters } = bus;
  return bus.subscribe(
    topic,
    group,
    (event, ctx) => {
      const normalized = normalizeEvent(event, normalizing) as EventRecord<T>;
      if (meters?.active) meters.normalized(event.topic, group, knownVersion(event, schemas));
      return handler(normalized, ctx);
    },
    subscribing,
  );
}
