/** Ids that are made of others: UUIDv5, so that the same cause gives the same id on every machine (P8, P9). */
import { hash } from "node:crypto";

const NAMESPACE = Buffer.from("6f1d3c3e52a45d0b9d6e2b8f0c7a41e9", "hex");
/** The namespace, and behind it room for what most ids are made of. */
const scratch = Buffer.concat([NAMESPACE, Buffer.alloc(4_080)]);
const MOST_BYTES_PER_CHARACTER = 3;

/** Id of the `index`-th event that `group`'s handler emits for the event `sourceId`. */
export function derivedId(group: string, sourceId: string, index: number | string): string {
  return uuidOf(JSON.stringify([group, sourceId, String(index)]));
}

/** Id of the one dead letter that `group` may make of the event `sourceId`. */
export function deadLetterId(topic: string, group: string, sourceId: string): string {
  return uuidOf(JSON.stringify(["dead-letter", topic, group, sourceId]));
}

/** Id of the one event as which a dead letter comes back to a topic. */
export function comebackId(letterId: string, target: string): string {
  return derivedId("redrive", letterId, target);
}

function uuidOf(name: string): string {
  const digest = hash("sha1", withNamespace(name), "hex");
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 3) | 8).toString(16);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

function withNamespace(name: string): Uint8Array {
  const room = scratch.length - NAMESPACE.length;
  if (name.length * MOST_BYTES_PER_CHARACTER > room) return Buffer.concat([NAMESPACE, Buffer.from(name)]);
  return scratch.subarray(0, NAMESPACE.length + scratch.write(name, NAMESPACE.length));
}
