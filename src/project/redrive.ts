/**
 * Redrive: publishes dead letters to their topic again, each partition in log order, so each key in its order. Only
 * the group that gave an event up gets it again (header `x-redrive-group`); others have had it.
 *
 * Each letter has one id under which it can come back, so a redrive that is repeated or goes on after a crash adds
 * nothing (P3). On a compacted topic an event that was overtaken by a newer one of its key stays where it is: it would
 * become the key's newest value.
 */
import { pause } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import { derivedId } from "../model/ids.js";
import type { JsonObject } from "../model/json.js";
import { REDRIVE_GROUP_HEADER } from "../model/topic.js";
import { deadLetters, type Letter, type LetterQuery, settleLetter } from "./dead-letters.js";
import type { Host } from "./host.js";
import { GatheredWrites, type Transaction } from "./transaction.js";

export interface RedriveOptions extends Omit<LetterQuery, "status"> {
  readonly topic: string;
  /** Where to; default: the topic it came from. */
  readonly to?: string;
  /** Events a second; default: as fast as they go. */
  readonly rate?: number;
  readonly limit?: number;
  /** The event to publish instead; null passes the letter over. */
  readonly transform?: (event: EventRecord, letter: Letter) => { payload: unknown; key?: string } | null;
  /** Every group gets the event, not only the one that gave it up. */
  readonly allGroups?: boolean;
  /** Nothing is published; with `handler`, shows what it would change. */
  readonly dryRun?: boolean;
  /** As of a transactional projector; run on the letters of a dry run and rolled back. */
  readonly handler?: (events: readonly EventRecord[], tx: Transaction) => unknown;
  readonly actor?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly redriven: number; readonly passedOver: number }) => void;
}

export interface DocumentDifference {
  readonly view: string;
  readonly key: string;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

export interface RedriveResult {
  readonly topic: string;
  readonly redriven: number;
  readonly passedOver: number;
  /** Passed over because a newer event of their key exists in a compacted topic. */
  readonly superseded: number;
  /** Ids of the letters that would be redriven, and what the handler did with each, of a dry run. */
  readonly preview?: readonly {
    readonly letter: string;
    readonly error?: string;
    readonly differences: readonly DocumentDifference[];
  }[];
}

/**
 * @example
 * await redrive(bus, { topic: "orders.placed", group: "mailer", rate: 50 });
 */
export async function redrive(host: Host, options: RedriveOptions): Promise<RedriveResult> {
  const target = options.to ?? options.topic;
  const compacted = (await host.store.registry.topic(target))?.compaction === true;
  const counts = { redriven: 0, passedOver: 0, superseded: 0 };
  const preview: NonNullable<RedriveResult["preview"]>[number][] = [];
  for await (const letter of deadLetters(host, options.topic, options)) {
    if (options.signal?.aborted || counts.redriven >= (options.limit ?? Number.POSITIVE_INFINITY)) break;
    const changed = options.transform === undefined ? letter.event : options.transform(letter.event, letter);
    const superseded = compacted && (await isSuperseded(host, target, letter));
    if (changed === null || superseded) {
      counts.passedOver++;
      if (superseded) counts.superseded++;
      continue;
    }
    if (options.dryRun)
      preview.push({ letter: letter.id, ...(await tryOut(host, { ...letter.event, ...changed }, options)) });
    else await republish(host, target, letter, changed, options);
    counts.redriven++;
    options.onProgress?.(counts);
    if (options.rate !== undefined && !options.dryRun)
      await pause(host.clock, 1_000 / options.rate, options.signal);
  }
  if (options.dryRun) return { topic: options.topic, ...counts, preview };
  await audit(host, options, target, counts);
  return { topic: options.topic, ...counts };
}

async function republish(
  host: Host,
  target: string,
  letter: Letter,
  changed: { payload: unknown; key?: string },
  options: RedriveOptions,
): Promise<void> {
  const { event, origin } = letter;
  const key = changed.key ?? event.key;
  const id = derivedId("redrive", letter.id, target);
  await host.publish(target, changed.payload, {
    id,
    ...(key === undefined ? undefined : { key }),
    ...(event.tags === undefined ? undefined : { tags: event.tags }),
    ...(event.sid === undefined ? undefined : { sid: event.sid }),
    caused_by: [letter.id, event.id],
    headers: {
      ...event.headers,
      ...(options.allGroups ? undefined : { [REDRIVE_GROUP_HEADER]: origin.group }),
    },
  });
  await settleLetter(host, options.topic, letter, "redriven", id);
}

async function isSuperseded(host: Host, topic: string, letter: Letter): Promise<boolean> {
  if (letter.key === undefined) return false;
  const newest = (await host.store.log.latestByKey(topic, [letter.key])).get(letter.key);
  return newest !== undefined && newest.id !== letter.event.id;
}

/** Runs the handler on one event without keeping what it writes. */
async function tryOut(
  host: Host,
  event: EventRecord,
  options: RedriveOptions,
): Promise<{ error?: string; differences: DocumentDifference[] }> {
  if (options.handler === undefined) return { differences: [] };
  const tx = new GatheredWrites(host.store.documents, event.ts);
  try {
    await options.handler([event], tx);
  } catch (error) {
    return { error: BusError.from(error).message, differences: [] };
  }
  return { differences: await tx.differences() };
}

async function audit(
  host: Host,
  options: RedriveOptions,
  target: string,
  counts: Record<string, number>,
): Promise<void> {
  await host.store.registry.audit({
    atMs: host.clock.now(),
    actor: options.actor ?? "bus",
    action: "dead-letters.redrive",
    target: options.topic,
    details: { ...counts, to: target },
  });
}
