/** Planted bugs of delivery: each is a step that decides one thing wrongly. */
import type { DeliveryEvent, Effect, Step } from "../../consume/delivery-events.js";
import { type Delivery, inFlightOf } from "../../consume/delivery-state.js";
import type { Cursor } from "../../ports/groups.js";
import type { Mutant } from "./mutant.js";

type Of<T extends DeliveryEvent["type"]> = Extract<DeliveryEvent, { type: T }>;

/** A step whose cursors are written differently. */
function withCursors(change: (cursor: Cursor, state: Delivery) => Cursor): NonNullable<Mutant["step"]> {
  return (step) => (state, event, policy) =>
    step(state, event, policy).map((effect) =>
      effect.type === "commit" || effect.type === "release"
        ? { ...effect, cursor: change(effect.cursor, state) }
        : effect,
    );
}

/** A step that sees events of one type differently. */
function withEvents<T extends DeliveryEvent["type"]>(
  type: T,
  change: (event: Of<T>, state: Delivery) => DeliveryEvent,
): NonNullable<Mutant["step"]> {
  return (step) => (state, event, policy) =>
    step(state, event.type === type ? change(event as Of<T>, state) : event, policy);
}

const floorOverGap: Mutant = {
  name: "floor-over-gap",
  says: "the floor is the highest settled event, whatever is open below it",
  expect: ["skipped"],
  step: withCursors((cursor) => ({
    ...cursor,
    floor: cursor.settled.at(-1)?.[1] ?? cursor.floor,
    settled: [],
    attempts: [],
  })),
};

const cursorAtMark: Mutant = {
  name: "cursor-at-mark",
  says: "the cursor moves to the mark: what may be handed out counts as done",
  expect: ["skipped"],
  step: withCursors((cursor) => ({ ...cursor, floor: cursor.mark, settled: [], attempts: [] })),
};

const markNotWritten: Mutant = {
  name: "mark-not-written",
  says: "events go out beyond the mark that is stored",
  expect: ["duplicate-without-attempt"],
  step: (step) => (state, event, policy) => {
    const seen: DeliveryEvent =
      event.type === "committed"
        ? { ...event, cursor: { ...event.cursor, mark: Number.MAX_SAFE_INTEGER } }
        : event;
    const effects = step(state, seen, policy);
    return effects.map((effect) =>
      effect.type === "commit"
        ? { ...effect, cursor: { ...effect.cursor, mark: effect.cursor.floor } }
        : effect,
    );
  },
};

const crashNotCounted: Mutant = {
  name: "crash-not-counted",
  says: "after a crash everything is delivered as if for the first time",
  expect: ["duplicate-without-attempt"],
  step: withEvents("arrived", (event, state) => {
    Object.assign(state, { redeliverThrough: 0 });
    state.past.clear();
    return event;
  }),
};

const retriesForgotten: Mutant = {
  name: "retries-forgotten",
  says: "attempts are not stored with the cursor",
  expect: ["duplicate-without-attempt", "stalled"],
  step: withCursors((cursor) => ({ ...cursor, attempts: [] })),
};

const neverRetried: Mutant = {
  name: "never-retried",
  says: "an event that failed waits for a retry that never comes",
  expect: ["stalled"],
  step: (step) => (state, event, policy) => {
    const effects = step(state, event, policy);
    state.delayed.clear();
    return effects;
  },
};

const deadlineForgotten: Mutant = {
  name: "deadline-forgotten",
  says: "a handler that never ends keeps its event",
  expect: ["stalled", "skipped", "key-order"],
  step: (step) => (state, event, policy) => {
    for (const entry of inFlightOf(state)) entry.leaseUntil(Number.POSITIVE_INFINITY);
    return step(state, event, policy);
  },
};

const ackBeforeHandler: Mutant = {
  name: "ack-before-handler",
  says: "an event is settled when it is handed out, not when it was handled",
  expect: ["skipped", "key-order"],
  step: (step) => (state, event, policy) => {
    const effects = step(state, event, policy);
    if (event.type !== "demand") return effects;
    return effects.flatMap((effect): readonly Effect[] => {
      if (effect.type !== "deliver") return [effect];
      const { nowMs } = event;
      const settled = effect.entries.flatMap((entry) => {
        const stored = entry.event;
        const more = step(
          state,
          { type: "handled", deliveries: [{ entry, attempt: entry.delivered }], nowMs },
          policy,
        );
        // It goes to its handler all the same.
        entry.event = stored;
        return more;
      });
      return [effect, ...settled];
    });
  },
};

const staleAckAccepted: Mutant = {
  name: "stale-ack-accepted",
  says: "an ack counts whichever attempt it names",
  expect: ["skipped", "key-order"],
  step: withEvents("handled", (event) => ({
    ...event,
    deliveries: event.deliveries.map(({ entry }) => ({ entry, attempt: entry.delivered })),
  })),
};

const noLanes: Mutant = {
  name: "no-lanes",
  says: "events of one key are handed out side by side",
  expect: ["key-order"],
  step: (step) => (state, event, policy) => step(state, event, { ...policy, ordering: "none" }),
};

const deadLetterWithoutCopy: Mutant = {
  name: "dead-letter-without-copy",
  says: "an event that is given up is settled without a dead letter",
  expect: ["dlq-missing"],
  step: (step) => (state, event, policy) => {
    const nowMs = "nowMs" in event ? event.nowMs : 0;
    const settleBuried = (effect: Effect): readonly Effect[] =>
      effect.type === "bury" ? step(state, { type: "buried", entry: effect.entry, nowMs }, policy) : [effect];
    return step(state, event, policy).flatMap(settleBuried);
  },
};

const buriedTooSoon: Mutant = {
  name: "buried-too-soon",
  says: "the first failure is the last",
  expect: ["dlq-early"],
  step: withEvents("failed", (event) => ({ ...event, fatal: true })),
};

const neverCareful: Mutant = {
  name: "never-careful",
  says: "a crash is never pinned on the event that caused it",
  expect: ["stalled"],
  step:
    (step): Step =>
    (state, event, policy) => {
      if (state.phase === "careful") state.phase = "running";
      return step(state, event, policy);
    },
};

export const STEP_MUTANTS: readonly Mutant[] = [
  floorOverGap,
  cursorAtMark,
  markNotWritten,
  crashNotCounted,
  retriesForgotten,
  neverRetried,
  deadlineForgotten,
  ackBeforeHandler,
  staleAckAccepted,
  noLanes,
  deadLetterWithoutCopy,
  buriedTooSoon,
  neverCareful,
];
