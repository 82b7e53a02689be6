/** Export: a topic as NDJSON, one event a line, up to the heads at the start. Payloads are not serialised anew. */
import type { EventRecord, StoredEvent } from "../../model/event.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { TopicRef } from "../../model/topic.js";
import { checkKey, knownTopic } from "../history/time-travel.js";
import type { Host } from "../host.js";
import { hasKeyIndex, scanKey } from "../key-scan.js";
import { scanMerged } from "../log-scan.js";
import { checkCount, checkFunctions, checkRange } from "../option-checks.js";
import { floorsAt, type Position } from "../topic-position.js";

/** Which part of a topic to export. */
export interface ExportOptions {
  /** Default "earliest". To go on after an interruption: `{ floors }`, the last seq that arrived of each partition. */
  readonly from?: Position;
  /** Only events whose ts is below this. */
  readonly untilTs?: number;
  readonly partition?: number;
  /** Only events of this key; by index for topics with `keyed` or `compaction`. */
  readonly key?: string;
  readonly filter?: (event: EventRecord) => boolean;
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

const OPTIONS = namesOf<ExportOptions>({
  from: true,
  untilTs: true,
  partition: true,
  key: true,
  filter: true,
  limit: true,
  signal: true,
});

/**
 * The lines, each with its newline; partitions merged by time, each in its own order.
 *
 * @example
 * await pipeline(exportEvents(bus, "orders"), createWriteStream("orders.ndjson"));
 */
export async function* exportEvents(
  host: Host,
  topic: TopicRef,
  options: ExportOptions = {},
): AsyncGenerator<string, void, undefined> {
  checkOptionNames("exportEvents", options, OPTIONS);
  const config = await knownTopic(host, topic);
  const { name, partitions } = config;
  const { log } = host.store;
  const { from = "earliest", untilTs = Number.POSITIVE_INFINITY, key, filter, partition: only } = options;
  checkCount("limit", options.limit, 0);
  checkRange("untilTs", untilTs, 0);
  checkRange("partition", only, 0, partitions - 1);
  if (key !== undefined) checkKey(key);
  checkFunctions({ filter });
  const floors = await floorsAt(log, name, from);
  const stretches = (await log.heads(name))
    .filter(({ partition }) => only === undefined || partition === only)
    .map(({ partition, head }) => ({
      topic: name,
      partition,
      after: floors[partition] ?? 0,
      through: head,
    }));
  const { signal } = options;
  const events =
    key !== undefined && (await hasKeyIndex(log, config))
      ? scanKey(log, key, stretches, signal)
      : scanMerged(log, stretches, signal && { signal });
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  for await (const event of events) {
    if (left <= 0 || signal?.aborted) return;
    if (key !== undefined && event.key !== key) continue;
    if (event.ts >= untilTs || filter?.(event.record) === false) continue;
    left--;
    yield lineOf(event);
  }
}

/** One EventRecord as JSON, with the payload's own text. */
export function lineOf(event: StoredEvent): string {
  const { id, topic, partition, seq, ts, key, meta, body } = event;
  const head = JSON.stringify({ id, topic, partition, seq, ts, key, ...meta });
  return `${head.slice(0, -1)},"payload":${onOneLine(body.text)}}\n`;
}

/** Payloads are kept as they came, pretty-printed ones too. Inside JSON strings there are no bare line ends. */
function onOneLine(json: string): string {
  return json.includes("\n") || json.includes("\r") ? json.replace(/[\r\n]+/g, " ") : json;
}
