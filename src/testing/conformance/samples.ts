/** Small builders of what the suite feeds to a store, and the ways it looks at what comes back. */
import { expect, vi } from "vitest";
import { systemClock } from "../../model/clock.js";
import { BusError, type ErrorCode } from "../../model/errors.js";
import type { EventDraft, EventMeta, EventRecord, Seq, StoredEvent } from "../../model/event.js";
import { jsonBody } from "../../model/json.js";
import type { TopicConfig } from "../../model/topic.js";
import type { Cursor, Session } from "../../ports/groups.js";
import type { OutboxEntry } from "../../ports/outbox.js";
import type { Store } from "../../ports/store.js";

const LIMITS = { maxPayloadBytes: 16 * 1_048_576, maxPayloadDepth: 64 };

/** A point in time that every sample counts from. */
export const T0 = 1_700_000_000_000;

let names = 0;

/** A name nobody used before: a store may be shared by the cases of a part. */
export function unique(prefix: string): string {
  return `${prefix}-${++names}`;
}

export interface DraftOptions {
  readonly id?: string;
  readonly ts?: number;
  readonly key?: string;
  readonly meta?: EventMeta;
  readonly payload?: unknown;
  readonly freshId?: boolean;
}

export function draft(options: DraftOptions = {}): EventDraft {
  return {
    id: options.id ?? systemClock.newId(),
    ts: options.ts ?? T0,
    key: options.key,
    meta: options.meta,
    body: jsonBody("payload" in options ? options.payload : { n: 1 }, LIMITS),
    freshId: options.freshId ?? false,
  };
}

/** Drafts with payloads `{ n: 1 }`, `{ n: 2 }` … */
export function drafts(count: number, options: DraftOptions = {}): EventDraft[] {
  return Array.from({ length: count }, (_, i) => draft({ ...options, payload: { n: i + 1 } }));
}

/** What must come back for a draft. */
export function recordOf(from: EventDraft, topic: string, partition: number, seq: Seq): EventRecord {
  const key = from.key === undefined ? {} : { key: from.key };
  return { id: from.id, topic, partition, seq, ts: from.ts, ...key, ...from.meta, payload: from.body.value };
}

export function records(events: Iterable<StoredEvent>): EventRecord[] {
  return [...events].map((event) => event.record);
}

export function seqs(events: Iterable<StoredEvent>): Seq[] {
  return [...events].map((event) => event.seq);
}

/** from, from + 1, … to. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}

export async function defineTopic(
  store: Store,
  partitions = 1,
  options: Partial<TopicConfig> = {},
): Promise<string> {
  const name = unique("topic");
  await store.registry.defineTopic({ ...options, name, partitions });
  return name;
}

/** Everything in a partition, page by page. */
export async function readAll(store: Store, topic: string, partition = 0): Promise<StoredEvent[]> {
  const all: StoredEvent[] = [];
  for (let after = 0; ; ) {
    const page = await store.log.read(topic, partition, { after, limit: 500 });
    all.push(...page.events);
    if (page.through <= after) return all;
    after = page.through;
  }
}

/** Where its partitions end. */
export async function headsNow({ log }: Store, topic: string): Promise<Seq[]> {
  return (await log.heads(topic)).map(({ head }) => head);
}

/** Takes its events away, then the topic. */
export async function removeWhole(store: Store, topic: string): Promise<boolean> {
  const heads = await headsNow(store, topic);
  for (const [partition, head] of heads.entries()) await store.log.trim(topic, partition, head);
  return store.registry.removeTopic(topic, heads);
}

export function cursorAt(floor: Seq, rest: Partial<Cursor> = {}): Cursor {
  return { floor, settled: [], attempts: [], mark: floor, unclean: 0, ...rest };
}

/** A session on a machine that is not this one: a driver that looks for the process finds nothing to say. */
export function session(member = unique("member")): Session {
  return { member, host: "elsewhere.example", pid: 4242, processStart: "2024-01-01T00:00:00.000Z" };
}

/** Long enough that no case outlives it. */
export const LONG_TTL_MS = 120_000;
/** Short enough to wait for. */
export const SHORT_TTL_MS = 150;

/** For a driver that goes by the caller's clock and for one that goes by its own, this is the same time. */
export function now(): { nowMs: number } {
  return { nowMs: Date.now() };
}

export async function openMember(store: Store, ttlMs = LONG_TTL_MS): Promise<string> {
  const opened = session();
  await store.groups.open(opened, { ...now(), ttlMs });
  return opened.member;
}

export function entry(options: Partial<OutboxEntry> = {}): OutboxEntry {
  return { id: systemClock.newId(), topic: "outbox-topic", payload: { n: 1 }, ...options };
}

/** The call must fail with a BusError of this code. */
export async function failsWith(code: ErrorCode, call: Promise<unknown>): Promise<void> {
  const outcome = await call.then(
    (value) => ({ answered: value }),
    (error: unknown) => error,
  );
  expect(outcome, `a BusError ${code}`).toBeInstanceOf(BusError);
  expect((outcome as BusError).code).toBe(code);
}

/** Waits until `check` no longer throws; a store that signals or lets sessions run out needs a moment. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 30_000, interval: 15 });
}

export const HALF_PAIR = "half a surrogate pair";

/** Values that a careless driver would change, lose or interpret. */
export const ODD_PAYLOADS: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["false", false],
  ["zero", 0],
  ["an empty string", ""],
  ["an empty object", {}],
  ["an empty array", []],
  ["a bare string", "plain"],
  ["the largest safe integer", Number.MAX_SAFE_INTEGER],
  ["extreme numbers", [1e308, 5e-324, -1e-7, 0.1 + 0.2, 2 ** 31, -(2 ** 63)]],
  ["a member called __proto__", JSON.parse('{"__proto__":{"admin":true},"constructor":1}')],
  ["a member called $where", { $where: "1 == 1", $set: { a: 1 }, "": "empty name" }],
  ["a member called a.b", { "a.b": 1, a: { b: 2 }, ".": 3, "a.": 4 }],
  ["unicode", { "ключ 🔑": "żółć 漢字 e\u0301 👩‍👩‍👧 \u202e", nul: "\u0000", line: '\u2028\n\t"\\' }],
  [HALF_PAIR, { half: "\ud83d", other: "\udd11!" }],
  ["text that looks like a date, a number, an id", ["2024-01-01T00:00:00Z", "1e3", "0x10", "{}", "null"]],
  ["nested arrays and nulls", [[], [[null]], [{ a: [null, { b: [] }] }]]],
  ["names that look like array indexes", { "0": "a", "10": "b", "2": "c" }],
  ["sixty levels", nested(60)],
];

function nested(levels: number): unknown {
  return levels === 0 ? "bottom" : { in: nested(levels - 1) };
}
