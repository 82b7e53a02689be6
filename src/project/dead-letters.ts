/**
 * Dead letters: what groups gave up (P8), to be looked at, redriven or discarded. The letters are events of
 * `dlq.<topic>`; what became of one is a document beside it, so that nothing is ever redriven twice by accident.
 */

import type { DeadLetter } from "../model/dead-letter.js";
import { BusError } from "../model/errors.js";
import type { StoredEvent } from "../model/event.js";
import { checkTopicName, deadLetterTopic } from "../model/topic.js";
import type { Documents, ViewDocument } from "../ports/documents.js";
import type { Host } from "./host.js";

export type LetterStatus = "open" | "redriven" | "discarded";

export interface Letter extends DeadLetter {
  /** Id of the letter itself. */
  readonly id: string;
  readonly key?: string;
  readonly ts: number;
  readonly status: LetterStatus;
  /** Errors of one class have the same text but for numbers and quoted parts. */
  readonly errorClass: string;
  /** Of the event it was redriven as, or why it was discarded. */
  readonly outcome?: string;
}

export interface LetterQuery {
  readonly group?: string;
  readonly key?: string;
  readonly errorClass?: string;
  readonly ids?: readonly string[];
  readonly filter?: (letter: Letter) => boolean;
  /** Default "open". */
  readonly status?: LetterStatus | "any";
}

export interface LetterSummary {
  readonly open: number;
  readonly redriven: number;
  readonly discarded: number;
  readonly byErrorClass: Readonly<Record<string, number>>;
  readonly byGroup: Readonly<Record<string, number>>;
  readonly byKey: Readonly<Record<string, number>>;
}

const PAGE = 200;

/** The letters of a topic that fit, in log order within a partition. Pages through; memory stays flat. */
export async function* deadLetters(
  host: Host,
  topic: string,
  query: LetterQuery = {},
): AsyncGenerator<Letter> {
  checkTopicName(topic);
  const name = deadLetterTopic(topic);
  const { log, registry, documents } = host.store;
  if ((await registry.topic(name)) === null) return;
  for (const { partition, head } of await log.heads(name)) {
    for (let after = 0; after < head; ) {
      const page = await log.read(name, partition, { after, limit: PAGE });
      after = Math.max(page.through, after + 1);
      const outcomes = await documents.get(
        outcomesView(topic),
        page.events.map(({ id }) => id),
      );
      for (const event of page.events) {
        const letter = letterOf(event, outcomes.get(event.id));
        if (letter !== null && fits(letter, query)) yield letter;
      }
    }
  }
}

/** How many there are, of which kinds. */
export async function summarizeDeadLetters(host: Host, topic: string): Promise<LetterSummary> {
  const counts = { open: 0, redriven: 0, discarded: 0 };
  const byErrorClass = new Map<string, number>();
  const byGroup = new Map<string, number>();
  const byKey = new Map<string, number>();
  for await (const letter of deadLetters(host, topic, { status: "any" })) {
    counts[letter.status]++;
    if (letter.status !== "open") continue;
    count(byErrorClass, letter.errorClass);
    count(byGroup, letter.origin.group);
    if (letter.key !== undefined) count(byKey, letter.key);
  }
  return {
    ...counts,
    byErrorClass: Object.fromEntries(byErrorClass),
    byGroup: Object.fromEntries(byGroup),
    byKey: Object.fromEntries(byKey),
  };
}

/** Takes letters out of the open ones for good, with a reason that the audit keeps. Returns how many. */
export async function discardDeadLetters(
  host: Host,
  topic: string,
  query: LetterQuery & { readonly reason: string; readonly actor?: string },
): Promise<number> {
  if (typeof query.reason !== "string" || query.reason === "") {
    throw new BusError("INVALID_OPTION", "discarding dead letters needs a reason");
  }
  let discarded = 0;
  for await (const letter of deadLetters(host, topic, query)) {
    await settleLetter(host, topic, letter, "discarded", query.reason);
    discarded++;
  }
  await host.store.registry.audit({
    atMs: host.clock.now(),
    actor: query.actor ?? "bus",
    action: "dead-letters.discard",
    target: deadLetterTopic(topic),
    details: { discarded, reason: query.reason },
  });
  return discarded;
}

/** Writes down what became of a letter; the first word stands. */
export async function settleLetter(
  host: Host,
  topic: string,
  letter: Letter,
  status: "redriven" | "discarded",
  outcome: string,
): Promise<void> {
  const write = {
    op: "upsert" as const,
    key: letter.id,
    version: 1,
    ts: host.clock.now(),
    fields: { status, outcome },
  };
  await host.store.documents.write(outcomesView(topic), [write]);
}

function outcomesView(topic: string): Parameters<Documents["get"]>[0] {
  return deadLetterTopic(topic).slice(0, 120);
}

function letterOf(event: StoredEvent, outcome: ViewDocument | undefined): Letter | null {
  const payload = event.record.payload as Partial<DeadLetter> | null;
  // Whatever else somebody published into the topic is not a letter.
  if (typeof payload?.origin?.id !== "string" || typeof payload.error?.message !== "string") return null;
  const letter = payload as DeadLetter;
  return {
    ...letter,
    id: event.id,
    ts: event.ts,
    ...(event.key === undefined ? undefined : { key: event.key }),
    status: (outcome?.fields["status"] as LetterStatus | undefined) ?? "open",
    errorClass: classOf(letter.error),
    ...(outcome === undefined ? undefined : { outcome: String(outcome.fields["outcome"]) }),
  };
}

function classOf(error: DeadLetter["error"]): string {
  const text = error.message.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, "…").replace(/[0-9a-f-]{8,}|\d+/g, "#");
  return `${error.code ?? error.name ?? "Error"}: ${text.slice(0, 120)}`;
}

function fits(letter: Letter, query: LetterQuery): boolean {
  const { status = "open" } = query;
  return (
    (status === "any" || letter.status === status) &&
    (query.group === undefined || letter.origin.group === query.group) &&
    (query.key === undefined || letter.key === query.key) &&
    (query.errorClass === undefined || letter.errorClass === query.errorClass) &&
    (query.ids === undefined || query.ids.includes(letter.id)) &&
    (query.filter?.(letter) ?? true)
  );
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
