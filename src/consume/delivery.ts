/**
 * Delivery: what one owner of one partition does next. No I/O, no clock; delivery-shell.ts performs the effects.
 *
 *   running | careful --stop--> draining --last one settled, or halt--> (release) --released--> stopped
 *   careful --the doubtful stretch is settled--> running
 *   any --fenced--> stopped
 *
 * P4  an event goes out only when no earlier one of its lane is active, or when all that are let it pass (lanes.ts).
 * P5  nothing above the committed mark goes out, so whoever follows an owner that crashed knows what may be a second
 *     delivery and says so with attempt > 1.
 * P6  handled, failed and extended name an attempt; any but the present one changes nothing.
 * P8  failures are counted per event; in careful mode an event's hand-out is committed before it happens, so that a
 *     crash is pinned on it. After the last attempt it is buried: the cursor waits for the copy. What goes wrong
 *     with a batch counts against none of its events: halves of it are tried, down to each alone.
 * P13 taking in stops at the bounds of the policy and goes on as events settle.
 */
import { backoffMs } from "../model/retry.js";
import {
  afterChange,
  commit,
  earliestDue,
  lastWord,
  lengthenStride,
  maybeWake,
  writeCursor,
} from "./cursor-writes.js";
import {
  both,
  type DeliveryEvent,
  type Effect,
  NOTHING,
  type Of,
  pushAll,
  type Step,
} from "./delivery-events.js";
import {
  type Delivery,
  floorOf,
  type GroupPolicy,
  inFlightOf,
  type Phase,
  passSettled,
} from "./delivery-state.js";
import type { Entry, HandlingPolicy } from "./entry.js";
import { bury, buryEffect } from "./giving-up.js";
import { handOut } from "./hand-out.js";
import { mayGiveUp, noteBuried, noteHandled } from "./hold.js";
import { fetchAgain, fetchMore, maybeFetch, takeIn } from "./intake.js";
import { leaveLane, letPass, lookAgain, requeue, stopPassing } from "./lanes.js";

type Transition<T extends DeliveryEvent["type"]> = (
  state: Delivery,
  event: Of<T>,
  policy: GroupPolicy,
) => readonly Effect[];
type Row = { readonly [T in DeliveryEvent["type"]]: Transition<T> };

const ignore = (): readonly Effect[] => NOTHING;

const ACTIVE: Row = {
  arrived: takeIn,
  unread: fetchAgain,
  grew: fetchMore,
  demand: handOut,
  handled,
  failed,
  extended,
  buried,
  committed,
  passing,
  hold,
  unhold,
  tick,
  stop,
  halt,
  released: ignore,
  fenced: abandon,
};

/** Every phase answers every event; the compiler sees to it. */
const TABLE: { readonly [P in Phase]: Row } = {
  running: ACTIVE,
  careful: ACTIVE,
  draining: {
    ...ACTIVE,
    arrived: ignore,
    unread: ignore,
    grew: ignore,
    demand: ignore,
    stop: ignore,
    released: finish,
  },
  stopped: {
    arrived: ignore,
    unread: ignore,
    grew: ignore,
    demand: ignore,
    handled: ignore,
    failed: ignore,
    extended: ignore,
    buried: ignore,
    committed: ignore,
    passing: ignore,
    hold: ignore,
    unhold: ignore,
    tick: ignore,
    stop: ignore,
    halt: ignore,
    released: ignore,
    fenced: ignore,
  },
};

export const step: Step = (state, event, policy) => {
  const transition = TABLE[state.phase][event.type] as Transition<DeliveryEvent["type"]>;
  const effects = transition(state, event, policy);
  return state.letGo.length === 0 ? effects : both(effects, partWith(state, event, policy));
};

/** Events of held keys go where the one went that they must not overtake; what was discarded is passed over. */
function partWith(state: Delivery, event: DeliveryEvent, policy: GroupPolicy): readonly Effect[] {
  const effects: Effect[] = [];
  const nowMs = "nowMs" in event ? event.nowMs : 0;
  for (let one = state.letGo.shift(); one !== undefined; one = state.letGo.shift()) {
    const { entry, verdict } = one;
    if (verdict === "follow") {
      effects.push(buryEffect(entry, policy, "it waits behind an event of its key that was given up", true));
      continue;
    }
    state.burying.delete(entry);
    noteHandled(state, entry, nowMs);
    pushAll(effects, settleOne(state, entry, policy, nowMs));
  }
  return effects;
}

/** Whether an ack, nack or extension that names this attempt still counts (P6). */
export function isCurrent(entry: Entry, attempt: number): boolean {
  return entry.standing === "in-flight" && entry.delivered === attempt;
}

/** What a new owner does first: makes its claim and its mark known; nothing goes out before that. */
export function begin(state: Delivery, policy: GroupPolicy): readonly Effect[] {
  return [commit(state, policy), ...fetchMore(state, { type: "grew" }, policy)];
}

/** It ended without a crash; to be made known at once, or a crash from now on would be pinned on it. */
function clearSuspect(state: Delivery, entry: Entry, nowMs: number): void {
  if (state.suspect !== entry.seq) return;
  state.suspect = undefined;
  state.commitAtMs = nowMs;
}

function handled(
  state: Delivery,
  { deliveries, nowMs }: Of<"handled">,
  policy: GroupPolicy,
): readonly Effect[] {
  let highest = 0;
  for (const { entry, attempt } of deliveries) {
    if (!isCurrent(entry, attempt)) continue;
    state.inFlight--;
    noteHandled(state, entry, nowMs);
    settle(state, entry, nowMs);
    if (entry.seq > highest) highest = entry.seq;
  }
  if (highest === 0) return NOTHING;
  const effects = afterSettled(state, policy, nowMs);
  const floor = floorOf(state);
  if (highest <= floor) return effects;
  for (const { entry } of deliveries) if (entry.seq > floor && entry.standing === "settled") entry.letGo();
  return effects;
}

function buried(state: Delivery, event: Of<"buried">, policy: GroupPolicy): readonly Effect[] {
  if (!state.burying.delete(event.entry)) return NOTHING;
  noteBuried(state, event.entry, policy, event.nowMs);
  return settleOne(state, event.entry, policy, event.nowMs);
}

function settleOne(state: Delivery, entry: Entry, policy: GroupPolicy, nowMs: number): readonly Effect[] {
  settle(state, entry, nowMs);
  const effects = afterSettled(state, policy, nowMs);
  entry.letGo();
  return effects;
}

function settle(state: Delivery, entry: Entry, nowMs: number): void {
  state.buffered--;
  state.bufferedBytes -= entry.bytes;
  entry.standing = "settled";
  entry.holder = null;
  clearSuspect(state, entry, nowMs);
  leaveLane(state, entry, nowMs);
  state.dirty++;
}

/** Some were settled: the floor may move, and there is room. */
function afterSettled(state: Delivery, policy: GroupPolicy, nowMs: number): readonly Effect[] {
  passSettled(state);
  if (state.phase === "careful" && floorOf(state) >= state.carefulThrough) state.phase = "running";
  return both(afterChange(state, policy, nowMs), maybeFetch(state, policy));
}

function failed(state: Delivery, event: Of<"failed">, policy: GroupPolicy): readonly Effect[] {
  if (!isCurrent(event.entry, event.attempt)) return NOTHING;
  state.inFlight--;
  return retryOrBury(state, event, policy);
}

interface Failure {
  readonly entry: Entry;
  readonly error: string;
  readonly detail?: unknown;
  readonly fatal: boolean;
  readonly counts: boolean;
  readonly random: number;
  readonly nowMs: number;
}

function retryOrBury(state: Delivery, failure: Failure, policy: GroupPolicy): readonly Effect[] {
  const { entry, nowMs } = failure;
  const handling = entry.policy as HandlingPolicy;
  stopPassing(entry);
  const { told } = entry;
  told.error = failure.error;
  told.detail = failure.detail;
  if (failure.counts) told.failures++;
  state.dirty++;
  clearSuspect(state, entry, nowMs);
  const giveUp = failure.fatal || (failure.counts && entry.failures >= handling.maxAttempts);
  if (giveUp && handling.deadLetter && mayGiveUp(state, entry, policy))
    return [bury(state, entry, handling, policy), ...afterChange(state, policy, nowMs)];
  told.maxBatch = Math.max(1, Math.ceil((entry.lease?.batchOf ?? 1) / 2));
  // A moment at least: an event that fails at once, for ever, must not keep others from their turn.
  const waitMs = Math.max(1, backoffMs(handling.retry, entry.failures, failure.random));
  told.retryAtMs = failure.counts ? nowMs + waitMs : 0;
  told.waitMs = waitMs;
  requeue(state, entry, nowMs);
  return afterChange(state, policy, nowMs);
}

function extended(state: Delivery, event: Of<"extended">): readonly Effect[] {
  if (!isCurrent(event.entry, event.attempt)) return NOTHING;
  event.entry.leaseUntil(event.deadlineMs);
  if (event.deadlineMs < state.dueMs) state.dueMs = event.deadlineMs;
  return maybeWake(state);
}

function tick(state: Delivery, event: Of<"tick">, policy: GroupPolicy): readonly Effect[] {
  state.wakeAtMs = Number.POSITIVE_INFINITY;
  state.dueMs = Number.POSITIVE_INFINITY;
  if (state.buffered === 0) state.lanes.clear();
  const effects: Effect[] = [];
  for (const entry of inFlightOf(state)) {
    if (entry.deadlineMs > event.nowMs) continue;
    state.inFlight--;
    effects.push({ type: "abort", entry, why: "deadline" });
    const error = `not acknowledged within ${entry.policy?.ackTimeoutMs} ms`;
    pushAll(
      effects,
      retryOrBury(
        state,
        {
          entry,
          error,
          fatal: false,
          counts: entry.lease?.batchOf === 1,
          random: event.random,
          nowMs: event.nowMs,
        },
        policy,
      ),
    );
  }
  for (const entry of state.delayed) {
    if (entry.retryAtMs > event.nowMs) continue;
    state.delayed.delete(entry);
    entry.standing = "ready";
    state.ready.push(entry);
  }
  for (const held of state.heldKeys.values()) {
    if (held.releaseUntilMs === 0 || held.releaseUntilMs > event.nowMs) continue;
    held.releaseUntilMs = 0;
    lookAgain(state, held.key, event.nowMs);
  }
  pushAll(effects, writeCursor(state, policy, event.nowMs));
  state.dueMs = earliestDue(state);
  pushAll(effects, maybeWake(state));
  return effects;
}

function committed(state: Delivery, event: Of<"committed">, policy: GroupPolicy): readonly Effect[] {
  state.committing = false;
  state.commitTookMs = event.tookMs ?? 0;
  // Not the first mark: everything waits for that one.
  if (state.mark > 0 && (state.ready.peek()?.seq ?? 0) > state.mark) lengthenStride(state, policy);
  state.mark = event.cursor.mark;
  return afterChange(state, policy, event.nowMs);
}

function passing(state: Delivery, { entries, nowMs }: Of<"passing">): readonly Effect[] {
  for (const entry of entries) if (entry.standing === "in-flight") letPass(state, entry, nowMs);
  return maybeWake(state);
}

function hold(state: Delivery, { entries }: Of<"hold">): readonly Effect[] {
  state.held++;
  // One that passed would deliver again what the transaction settles.
  for (const entry of entries) entry.leaseUntil(Number.POSITIVE_INFINITY);
  return NOTHING;
}

function unhold(state: Delivery, event: Of<"unhold">, policy: GroupPolicy): readonly Effect[] {
  state.held--;
  if (event.cursor !== undefined) {
    // Of several transactions the later one may be answered first.
    state.mark = Math.max(state.mark, event.cursor.mark);
    if (event.cursor.floor === floorOf(state)) {
      state.dirty = 0;
      state.commitAtMs = Number.POSITIVE_INFINITY;
    }
  }
  return state.haltWanted ? halt(state) : afterChange(state, policy, event.nowMs);
}

function stop(state: Delivery, _event: Of<"stop">, policy: GroupPolicy): readonly Effect[] {
  state.phase = "draining";
  return afterChange(state, policy, 0);
}

function halt(state: Delivery): readonly Effect[] {
  state.phase = "draining";
  state.haltWanted = state.held > 0;
  if (state.releasing || state.haltWanted) return NOTHING;
  const aborts = abortAll(state);
  // The cursor leaves without them: an ack that comes now must be refused (P6).
  for (const entry of inFlightOf(state)) entry.standing = "waiting";
  state.inFlight = 0;
  state.burying.clear();
  return [...aborts, lastWord(state)];
}

function abandon(state: Delivery): readonly Effect[] {
  return [...abortAll(state), ...finish(state)];
}

function abortAll(state: Delivery): Effect[] {
  return inFlightOf(state).map((entry) => ({ type: "abort", entry, why: "lost" }));
}

function finish(state: Delivery): readonly Effect[] {
  state.phase = "stopped";
  state.ready.clear();
  state.delayed.clear();
  state.inFlight = 0;
  state.burying.clear();
  state.lanes.clear();
  state.letGo.length = 0;
  return [{ type: "stopped" }];
}
