/**
 * Dead letters: what groups gave up (P8), to be looked at, redriven or discarded. The letters are events of
 * `dlq.<topic>`; what became of one is a document beside it, so that nothing is ever redriven twice by accident.
 */

import type { DeadLetter } from "../../model/dead-letter.js";
import { derivedId } from "../../model/derived-id.js";
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import { jsonBody } from "../../model/json.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { type Redriven, redriveHeaders, withoutRedrive } from "../../model/redrive.js";
import { checkTopicName, deadLetterTopic, type TopicRef, topicName } from "../../model/topic.js";
import { checkHost, type Host } from "../host.js";
import { checkFunctions, checkList } from "../option-checks.js";
import { Chains, endOf, heldKeys } from "./held-letters.js";
import { forgetIfGone } from "./letter-outcomes.js";
import { letterAt, lettersBehind, lettersUnder, newestLetters, outcomesView } from "./letter-reading.js";
import { LetterTally } from "./letter-tally.js";

/** Waiting for somebody, published again, or discarded for good. */
export type LetterStatus = "open" | "redriven" | "discarded";

/** A dead letter with its place, its status and the class of its error. */
export interface Letter extends DeadLetter {
  /** Id of the letter itself. */
  readonly id: string;
  readonly key?: string;
  readonly ts: number;
  /** Its place in the dead-letter topic. */
  readonly partition: number;
  readonly seq: Seq;
  readonly status: LetterStatus;
  /** Errors of one class have the same text but for numbers, ids, addresses and quoted values. */
  readonly errorClass: string;
  /** Of the event it was redriven as, or why it was discarded. */
  readonly outcome?: string;
}

/** Which dead letters: all conditions that are given must fit. */
export interface LetterQuery {
  readonly group?: string;
  readonly key?: string;
  readonly errorClass?: string;
  readonly ids?: readonly string[];
  readonly filter?: (letter: Letter) => boolean;
  /** Default "open". */
  readonly status?: LetterStatus | "any";
  /** By the time at which they were given up, the newest first. Default false: partition by partition, each in log order. */
  readonly newestFirst?: boolean;
}

/** How many dead letters a topic has; the open ones by error class, group and key. */
export interface LetterSummary {
  readonly open: number;
  readonly redriven: number;
  readonly discarded: number;
  readonly byErrorClass: Readonly<Record<string, number>>;
  /** Of each class, the message of the open letter that was given up last. */
  readonly errorExamples: Readonly<Record<string, string>>;
  readonly byGroup: Readonly<Record<string, number>>;
  readonly byKey: Readonly<Record<string, number>>;
}

/** Which letters are discarded, and why. */
export type DiscardOptions = Omit<LetterQuery, "newestFirst"> & {
  readonly reason: string;
  readonly actor?: string;
};

const CHOICE = { group: true, key: true, errorClass: true, ids: true, filter: true, status: true } as const;
const QUERY_OPTIONS = namesOf<LetterQuery>({ ...CHOICE, newestFirst: true });
const DISCARD_OPTIONS = namesOf<DiscardOptions>({ ...CHOICE, reason: true, actor: true });

const PAGE = 200;

/**
 * The letters of a topic that fit. Pages through; memory stays flat. NOT_FOUND if there is no such topic.
 */
export async function* deadLetters(
  host: Host,
  of: TopicRef,
  query: LetterQuery = {},
): AsyncGenerator<Letter> {
  checkHost(host);
  checkOptionNames("deadLetters", query, QUERY_OPTIONS);
  checkChoice(query);
  const topic = topicName(of);
  await checkKnown(host, topic);
  yield* fitting(host, topic, query);
}

function checkChoice({ filter, ids }: LetterQuery): void {
  checkFunctions({ filter });
  checkList("ids", ids);
}

async function* fitting(host: Host, topic: string, query: LetterQuery): AsyncGenerator<Letter> {
  for await (const letter of letters(host, topic, query)) if (fits(letter, query)) yield letter;
}

/** In the order that is wanted; of those that are named by id, no others. */
function letters(
  host: Host,
  topic: string,
  { ids, newestFirst = false }: LetterQuery,
): AsyncGenerator<Letter> {
  if (ids !== undefined) return lettersUnder(host, topic, ids, newestFirst);
  return newestFirst ? newestLetters(host, topic) : lettersBehind(host, topic, new Map());
}

/** How many there are, of which kinds. NOT_FOUND if there is no such topic. */
export async function summarizeDeadLetters(host: Host, topic: TopicRef): Promise<LetterSummary> {
  const tally = new LetterTally();
  for await (const letter of deadLetters(host, topic, { status: "any" })) tally.add(letter);
  return tally.summary();
}

/** NOT_FOUND if the store knows neither the topic nor dead letters of it: that nothing was done would hide a misspelt name. */
export async function checkKnown({ store }: Host, topic: string): Promise<void> {
  checkTopicName(topic);
  for (const name of [topic, deadLetterTopic(topic)]) if ((await store.registry.topic(name)) !== null) return;
  throw new BusError("NOT_FOUND", `there is no topic ${topic}`);
}

/** Takes letters out of the open ones for good, with a reason that the audit keeps. Returns how many. */
export async function discardDeadLetters(host: Host, of: TopicRef, query: DiscardOptions): Promise<number> {
  const topic = topicName(of);
  if (typeof query?.reason !== "string" || query.reason === "") {
    throw new BusError("INVALID_OPTION", "discarding dead letters needs a reason");
  }
  checkOptionNames("discardDeadLetters", query, DISCARD_OPTIONS);
  checkChoice(query);
  checkHost(host);
  await checkKnown(host, topic);
  let discarded = 0;
  // Also those whose letters were discarded by one who did not come to tell their group.
  const held = await heldKeys(host, topic);
  for await (const letters of inLots(fitting(host, topic, query))) {
    await settleLetters(
      host,
      topic,
      letters.map((letter) => ({ letter, status: "discarded", outcome: query.reason })),
    );
    for (const letter of letters) if (letter.hold !== undefined) held.add(keyName(letter));
    discarded += letters.length;
  }
  if (held.size > 0) await endChains(host, topic, (letter) => held.has(keyName(letter)));
  await host.store.registry.audit({
    atMs: host.clock.now(),
    actor: query.actor ?? "bus",
    action: "dead-letters.discard",
    target: deadLetterTopic(topic),
    details: { discarded, reason: query.reason },
  });
  return discarded;
}

/** As many as one write takes at a time. */
export async function* inLots(letters: AsyncIterable<Letter>): AsyncGenerator<readonly Letter[]> {
  let lot: Letter[] = [];
  for await (const letter of letters) {
    lot.push(letter);
    if (lot.length < PAGE) continue;
    yield lot;
    lot = [];
  }
  if (lot.length > 0) yield lot;
}

/** Groups that wait for letters of these keys, of which no more will come, are told so. */
export async function endChains(
  host: Host,
  topic: string,
  wanted: (letter: Letter) => boolean,
): Promise<void> {
  const chains = new Chains();
  for await (const letter of fitting(host, topic, { status: "any", filter: wanted })) chains.add(letter);
  for (const chain of chains.all()) {
    const end = endOf(chain);
    const last = chain.letters.at(-1);
    const letter = end && last && (await letterAt(host, topic, last));
    if (end !== null && letter) await appendEnd(host, topic, letter, end);
  }
}

/** Past all that looks at payloads: nobody handles it, and what was given up may be just what is not let in today. */
async function appendEnd(
  { store, clock }: Host,
  topic: string,
  letter: Letter,
  end: Redriven,
): Promise<void> {
  if ((await store.registry.topic(topic)) === null) return;
  const { event, origin } = letter;
  const draft = {
    id: derivedId("redrive", letter.id, `end ${end.after}`),
    ts: clock.now(),
    key: event.key,
    meta: {
      caused_by: [letter.id, event.id],
      headers: { ...withoutRedrive(event.headers), ...redriveHeaders(end) },
    },
    body: jsonBody(event.payload ?? null),
    freshId: false,
  };
  const { error } = await store.log.append(topic, origin.partition, [draft]);
  if (error !== undefined) throw error;
}

export function keyName(letter: Letter): string {
  return `${letter.origin.group}\n${letter.key}`;
}

/** What became of a letter. */
export interface Settled {
  readonly letter: Letter;
  readonly status: "redriven" | "discarded";
  readonly outcome: string;
}

/** Writes down what became of letters; the first word stands. */
export async function settleLetters(host: Host, topic: string, settled: readonly Settled[]): Promise<void> {
  const writes = settled.map(({ letter, status, outcome }) => ({
    op: "upsert" as const,
    key: letter.id,
    version: 1,
    ts: host.clock.now(),
    fields: { status, outcome },
  }));
  await host.store.documents.write(outcomesView(topic), writes);
  const letters = settled.map(({ letter }) => letter);
  await forgetIfGone(host, topic, letters);
}

/** But for its id. */
export function fits(letter: Letter, query: Omit<LetterQuery, "ids">): boolean {
  const { status = "open" } = query;
  return (
    (status === "any" || letter.status === status) &&
    (query.group === undefined || letter.origin.group === query.group) &&
    (query.key === undefined || letter.key === query.key) &&
    (query.errorClass === undefined || letter.errorClass === query.errorClass) &&
    (query.filter?.(letter) ?? true)
  );
}
