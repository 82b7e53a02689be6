/** Stored events brought to the working tree's newest schemas, as its readers would: which is the first that fails. */
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { SchemaEntry } from "../../ports/registry.js";
import { normalizeEvent } from "../evolution/upcast.js";
import { payloadCheck, violated } from "../payload/payload-check.js";
import { headerVersion } from "../registry/versioned-topic.js";
import type { LintFinding } from "./finding.js";
import type { WorkingSchemas } from "./working-schemas.js";

/** What runs somewhere: a hub, or a store. */
export interface LintTarget {
  /** For people. */
  readonly name: string;
  schemas(): Promise<readonly SchemaEntry[]>;
  /** The newest events of a topic, at most that many; none if there is no such topic. */
  newest(topic: string, limit: number): Promise<readonly EventRecord[]>;
}

export interface Replayed {
  readonly events: number;
  readonly findings: readonly LintFinding[];
}

export async function replayNewest(
  working: WorkingSchemas,
  target: LintTarget,
  limit: number,
): Promise<Replayed> {
  let events = 0;
  const findings: LintFinding[] = [];
  for (const { topic, file, pass } of readers(working)) {
    const newest = inLogOrder(await target.newest(topic, limit));
    events += newest.length;
    const failed = newest.flatMap((event) => failureOf(event, pass));
    if (failed[0] !== undefined)
      findings.push(finding(failed[0], failed.length, newest.length, { topic, file }));
  }
  return { events, findings };
}

interface Reader {
  readonly topic: string;
  readonly file: string;
  /** Throws if the event does not come through. */
  pass(event: EventRecord): unknown;
}

function readers(working: WorkingSchemas): Reader[] {
  const files = new Map(working.versions.map(({ topic, file }) => [topic, file]));
  const versioned = [...files].flatMap(([topic, file]) => {
    const schemas = working.sourceOf(topic);
    if (schemas === undefined) return [];
    const latest = schemas.latest(topic)?.version ?? 1;
    const upcasts = working.upcasts.find((chain) => chain.missing(topic, 1, latest).length < latest - 1);
    const options = { schemas, target: latest, ...(upcasts !== undefined && { upcasts }) };
    return [{ topic, file, pass: (event: EventRecord) => normalizeEvent(event, options) }];
  });
  const defined = working.unversioned.map(({ topic, file, schema }) => {
    const check = payloadCheck(schema);
    const pass = ({ payload }: EventRecord): void => {
      const checked = payload === null ? undefined : check(payload);
      if (checked?.fits === false) throw violated(`"${topic}"`, checked.violations, { topic });
    };
    return { topic, file, pass };
  });
  return [...versioned, ...defined];
}

function inLogOrder(events: readonly EventRecord[]): EventRecord[] {
  return [...events].sort((a, b) => a.ts - b.ts || a.partition - b.partition || a.seq - b.seq);
}

interface Failed {
  readonly event: EventRecord;
  readonly why: string;
}

function failureOf(event: EventRecord, pass: Reader["pass"]): Failed[] {
  try {
    pass(event);
    return [];
  } catch (error) {
    return [{ event, why: BusError.from(error).message }];
  }
}

function finding(
  { event, why }: Failed,
  failed: number,
  of: number,
  where: { topic: string; file: string },
): LintFinding {
  const { id, partition, seq } = event;
  const version = versionIn(event);
  const written = version === undefined ? "without a version" : `of version ${version}`;
  return {
    rule: "event-fails",
    message: `${failed} of the newest ${of} events of "${where.topic}" do not come through; the first is ${id} at ${partition}:${seq}, ${written}: ${why}`,
    ...where,
    line: 1,
    column: 1,
    ...(version !== undefined && { version }),
    details: { id, partition, seq, failed, of },
  };
}

function versionIn({ headers, id }: EventRecord): number | undefined {
  try {
    return headerVersion(headers, id);
  } catch {
    return undefined;
  }
}
