/** Dead letters a page at a time. A page says where the next one goes on, so that nothing is looked at twice. */
import type { Seq } from "../../model/event.js";
import type { Host } from "../../project/host.js";
import { deadLetters, fits, type Letter, type LetterQuery } from "../../project/letters/dead-letters.js";
import { lettersBehind, newestLetters } from "../../project/letters/letter-reading.js";
import { HubError } from "../problem.js";

export interface LetterPage {
  /** Each as JSON. */
  readonly items: readonly string[];
  readonly next: string | null;
}

export interface LetterPageOptions {
  readonly limit: number;
  /** `next` of the page before, in the same order, or the id of a letter. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

/** Where to go on, by partition: above it if the oldest come first, else below it. */
type Places = Map<number, Seq>;

/** A page is full, too, when it has so many characters. */
const PAGE_CHARS = 4 * 1_048_576;
const NEXT = /^\d{1,5}:\d{1,16}(,\d{1,5}:\d{1,16})*$/;

/** Those that fit, by status "open" unless told. */
export async function letterPage(
  host: Host,
  topic: string,
  query: Omit<LetterQuery, "ids">,
  { limit, after, signal }: LetterPageOptions,
): Promise<LetterPage> {
  const { newestFirst = false } = query;
  const places = after === undefined ? new Map() : await placesAfter(host, topic, after, newestFirst);
  const letters = newestFirst ? newestLetters(host, topic, places) : lettersBehind(host, topic, places);
  const items: string[] = [];
  let chars = 0;
  for await (const letter of letters) {
    if (signal?.aborted === true) break;
    if (!fits(letter, query)) continue;
    if (items.length >= limit || chars > PAGE_CHARS)
      return { items, next: nextOf(letter, newestFirst, places) };
    const text = JSON.stringify(letter);
    items.push(text);
    chars += text.length;
  }
  return { items, next: null };
}

/** The page that begins with this letter. */
function nextOf({ partition, seq }: Letter, newestFirst: boolean, places: Places): string {
  if (!newestFirst) return `${partition}:${seq - 1}`;
  return [...places.set(partition, seq + 1)].map((place) => place.join(":")).join(",");
}

async function placesAfter(host: Host, topic: string, after: string, newestFirst: boolean): Promise<Places> {
  const named = NEXT.test(after)
    ? after.split(",").map((place) => place.split(":").map(Number) as [number, Seq])
    : undefined;
  if (newestFirst) return named === undefined ? placesBefore(host, topic, after) : new Map(named);
  const [partition, seq] = named?.[0] ?? (await placeOf(host, topic, after));
  // Partitions are read one after the other: those before it are done.
  const done = Array.from({ length: partition }, (_, each) => [each, Number.MAX_SAFE_INTEGER] as const);
  return new Map([...done, [partition, seq]]);
}

async function placeOf(host: Host, topic: string, id: string): Promise<[number, Seq]> {
  for await (const { partition, seq } of deadLetters(host, topic, { ids: [id], status: "any" }))
    return [partition, seq];
  throw notThere();
}

/** Of the letters that are older than this one nothing tells but all that are newer. */
async function placesBefore(host: Host, topic: string, id: string): Promise<Places> {
  const places: Places = new Map();
  for await (const letter of newestLetters(host, topic, places)) if (letter.id === id) return places;
  throw notThere();
}

function notThere(): HubError {
  return new HubError("BAD_REQUEST", "after is the `next` of the page before");
}
