/**
 * Reads letters out of a dead-letter topic, each with what became of it: from the oldest on, partition by partition, from the
 * newest back, whichever partition that is in, or by id. Page by page, so that memory stays flat.
 */
import type { DeadLetter } from "../../model/dead-letter.js";
import type { Seq, StoredEvent } from "../../model/event.js";
import { mapInTurns } from "../../model/map-in-turns.js";
import { hash64 } from "../../model/partition.js";
import { deadLetterTopic } from "../../model/topic.js";
import type { Documents, ViewDocument } from "../../ports/documents.js";
import type { Host } from "../host.js";
import { scanPages } from "../log-scan.js";
import type { Letter, LetterStatus } from "./dead-letters.js";
import { errorClass } from "./error-class.js";

const PAGE = 200;

/** All letters behind these places, by partition; the places move on with the pages that are read. */
export async function* lettersBehind(
  host: Host,
  topic: string,
  places: Map<number, Seq>,
): AsyncGenerator<Letter> {
  const name = deadLetterTopic(topic);
  const { log, registry } = host.store;
  if ((await registry.topic(name)) === null) return;
  for (const { partition, head } of await log.heads(name)) {
    const unread = { topic: name, partition, after: places.get(partition) ?? 0, through: head };
    for await (const page of scanPages(log, unread, { pageSize: PAGE })) {
      places.set(partition, page.through);
      for (const letter of await lettersOf(host, topic, page.events)) yield await completed(host, letter);
    }
  }
}

/**
 * All letters by the time at which they were given up, the newest first: those before these places, which move with each letter. A
 * partition without a place is read from its end.
 */
export async function* newestLetters(
  host: Host,
  topic: string,
  places = new Map<number, Seq>(),
): AsyncGenerator<Letter> {
  const name = deadLetterTopic(topic);
  const { log, registry } = host.store;
  if ((await registry.topic(name)) === null) return;
  const walks = (await log.heads(name)).map(({ partition, low, head }) => {
    const before = Math.min(places.get(partition) ?? head + 1, head + 1);
    places.set(partition, before);
    return backwards(host, topic, { partition, low, head: before - 1 });
  });
  const fronts = await Promise.all(walks.map((walk) => walk.next()));
  for (;;) {
    const at = newestOf(fronts.map(({ value }) => value as Letter | undefined));
    const letter = fronts[at]?.value as Letter | undefined;
    if (letter === undefined) return;
    places.set(letter.partition, letter.seq);
    yield await completed(host, letter);
    fronts[at] = (await walks[at]?.next()) as IteratorResult<Letter, undefined>;
  }
}

/** Those under these ids, each looked up; in the order of their places, or the newest first. */
export async function* lettersUnder(
  host: Host,
  topic: string,
  ids: readonly string[],
  newestFirst: boolean,
): AsyncGenerator<Letter> {
  const name = deadLetterTopic(topic);
  const places: Pick<StoredEvent, "partition" | "seq" | "ts">[] = [];
  await mapInTurns([...new Set(ids)], async (id) => {
    const found = await host.store.log.find(id);
    if (found?.topic !== name) return;
    const { partition, seq, ts } = found;
    places.push({ partition, seq, ts });
  });
  places.sort((a, b) => (newestFirst ? b.ts - a.ts : 0) || a.partition - b.partition || a.seq - b.seq);
  for (const place of places) {
    const letter = await letterAt(host, topic, place);
    if (letter !== null) yield letter;
  }
}

function newestOf(letters: readonly (Letter | undefined)[]): number {
  return letters.reduce((best, letter, i) => ((letter?.ts ?? -1) > (letters[best]?.ts ?? -1) ? i : best), 0);
}

const FIRST_BLOCK = 16;
const MOST_BYTES = 1_048_576;

/** One partition from its end on. Letters may be of any size: where they are large, fewer are held at a time. */
async function* backwards(
  host: Host,
  topic: string,
  { partition, low, head }: { readonly partition: number; readonly low: Seq; readonly head: Seq },
): AsyncGenerator<Letter, undefined> {
  let size = FIRST_BLOCK;
  for (let through = head; through >= low; ) {
    const after = Math.max(low - 1, through - size);
    const events: StoredEvent[] = [];
    const block = { topic: deadLetterTopic(topic), partition, after, through };
    for await (const page of scanPages(host.store.log, block)) events.push(...page.events);
    yield* (await lettersOf(host, topic, events)).reverse();
    const bytes = events.reduce((sum, event) => sum + event.size, 0);
    size = bytes > MOST_BYTES ? Math.max(1, size >> 1) : Math.min(PAGE, size * 2);
    through = after;
  }
}

async function lettersOf(host: Host, topic: string, events: readonly StoredEvent[]): Promise<Letter[]> {
  const ids = events.map(({ id }) => id);
  const outcomes = await host.store.documents.get(outcomesView(topic), ids);
  return events.flatMap((event) => letterOf(event, outcomes.get(event.id)) ?? []);
}

/** The letter at this place, if it is still there. */
export async function letterAt(
  host: Host,
  topic: string,
  { partition, seq }: { readonly partition: number; readonly seq: Seq },
): Promise<Letter | null> {
  const page = await host.store.log.read(deadLetterTopic(topic), partition, { after: seq - 1, limit: 1 });
  const event = page.events.find((candidate) => candidate.seq === seq);
  if (event === undefined) return null;
  const outcome = (await host.store.documents.get(outcomesView(topic), [event.id])).get(event.id);
  const letter = letterOf(event, outcome);
  return letter && completed(host, letter);
}

/** With all of its event, if the log has that still. */
async function completed(host: Host, letter: Letter): Promise<Letter> {
  const { incomplete, ...rest } = letter;
  if (incomplete === undefined) return letter;
  const { topic, partition, seq, id } = letter.origin;
  const { events } = await host.store.log.read(topic, partition, { after: seq - 1, limit: 1 });
  const event = events.find((candidate) => candidate.seq === seq && candidate.id === id);
  return event === undefined ? letter : { ...rest, event: event.record };
}

const LONGEST_VIEW = 120;

/** Where it is written down what became of letters. Names that are too long for a view end in a hash of them. */
export function outcomesView(topic: string): Parameters<Documents["get"]>[0] {
  const name = deadLetterTopic(topic);
  if (name.length <= LONGEST_VIEW) return name;
  const { hi, lo } = hash64(name);
  const hash = [hi, lo].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  return `${name.slice(0, LONGEST_VIEW - 1 - hash.length)}-${hash}`;
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
    partition: event.partition,
    seq: event.seq,
    ...(event.key === undefined ? undefined : { key: event.key }),
    status: (outcome?.fields["status"] as LetterStatus | undefined) ?? "open",
    errorClass: errorClass(letter.error),
    ...(outcome === undefined ? undefined : { outcome: String(outcome.fields["outcome"]) }),
  };
}
