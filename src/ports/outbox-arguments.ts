/** What callers of an outbox hand in, checked and completed: for those who use its verbs by hand, as much as for drainers. */
import { BusError, inBrief } from "../model/errors.js";
import { checkOptionNames, namesOf } from "../model/known-options.js";
import { DEFAULT_LIMITS } from "../model/limits.js";
import type { ClaimOptions, OutboxEntry, OutboxFailure } from "./outbox.js";

const LEASE_MS = 30_000;
const ENTRY = namesOf<OutboxEntry>({
  id: true,
  topic: true,
  payload: true,
  key: true,
  headers: true,
  ts: true,
  tags: true,
  caused_by: true,
  sid: true,
});
const ADD_OPTIONS: readonly string[] = ["nowMs"];
const CLAIM_OPTIONS = namesOf<ClaimOptions>({ owner: true, leaseMs: true, nowMs: true });
const FAILURE_OPTIONS = namesOf<OutboxFailure>({
  error: true,
  retryAfterMs: true,
  nowMs: true,
  dead: true,
  counts: true,
});

/**
 * Refuses what is no entry at all, so that the caller's transaction fails with it. Whether the bus will take it (a name, a
 * size, a schema) is the bus's to say: what it refuses ends as a dead entry, with the reason.
 */
export function checkEntry(entry: OutboxEntry): void {
  const { id, topic, payload, key } = (entry ?? {}) as Partial<OutboxEntry>;
  if (typeof id !== "string" || id === "" || Buffer.byteLength(id) > DEFAULT_LIMITS.maxIdBytes) {
    const most = `a non-empty string of at most ${DEFAULT_LIMITS.maxIdBytes} bytes`;
    throw new BusError(
      "INVALID_OPTION",
      `an outbox entry needs an id, ${most}: the event is published under it`,
    );
  }
  if (typeof topic !== "string" || topic === "")
    throw new BusError("INVALID_TOPIC", "an outbox entry needs the name of its topic");
  if (payload === undefined)
    throw new BusError("INVALID_PAYLOAD", "an outbox entry needs a payload; null is one, undefined is not");
  if (key !== undefined && typeof key !== "string")
    throw new BusError("INVALID_OPTION", "the key of an outbox entry must be a string");
  // With a misspelt key, events would go out of order in silence.
  checkOptionNames("an outbox entry", entry, ENTRY);
}

/** With a misspelt `session`, an entry would be there although the caller's transaction never is. `more`: what a driver takes besides. */
export function checkAddOptions(o: object, more: readonly string[] = []): void {
  checkOptionNames("add of an outbox", o, [...ADD_OPTIONS, ...more]);
}

export function claimOptions(count: number, given: Partial<ClaimOptions> | undefined): ClaimOptions {
  if (!Number.isSafeInteger(count) || count < 1)
    throw new BusError(
      "INVALID_OPTION",
      "claimBatch takes how many entries to claim: a whole number above 0",
    );
  checkOptionNames("claimBatch", given ?? {}, CLAIM_OPTIONS);
  const { owner = `process ${process.pid}`, leaseMs = LEASE_MS, nowMs = Date.now() } = given ?? {};
  return { owner, leaseMs, nowMs };
}

/** What went wrong, in words or in full; without a wait it may be tried again at once. */
export function failureOf(given: string | OutboxFailure): Required<OutboxFailure> {
  if (typeof given !== "string") checkOptionNames("markError", given, FAILURE_OPTIONS);
  const {
    error,
    retryAfterMs = 0,
    nowMs = Date.now(),
    dead = false,
    counts = true,
  } = typeof given === "string" ? { error: given } : given;
  return { error: inBrief(String(error)), retryAfterMs, nowMs, dead, counts };
}

/** Callers read one clock at moments of their own: only what is further ahead than this is from before it was set back. */
export const SET_BACK_MS = 60_000;

/** From when on it may be tried again, by the caller's clock; what need not wait is due under any clock. */
export function retryAtMs({ retryAfterMs, nowMs }: Required<OutboxFailure>): number {
  return retryAfterMs > 0 ? nowMs + retryAfterMs : 0;
}
