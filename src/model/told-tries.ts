/** Of a handler's tries that failed few are told, and all in the same words: by a bus, and by the client of a hub. */
import { inBrief } from "./errors.js";
import { Seldom } from "./seldom.js";

/** Of each group one in so long. */
const EVERY_MS = 60_000;
/** Groups of which it is known when one was told: there may be one for each client of a hub. */
const GROUPS = 1_000;

/** Admits those that are told, by group; the texts of the others need not even be made. */
export function seldomTries(): Seldom {
  return new Seldom(EVERY_MS, GROUPS);
}

/** The event of such a try, in words. */
export function eventInWords(id: string, key: string | undefined, topic: string): string {
  return `event ${id}${key === undefined ? "" : ` (key ${JSON.stringify(inBrief(key))})`} of ${topic}`;
}
