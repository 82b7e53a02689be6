/**
 * Writes down what takes effect in a store, whatever the caller hears of it. Calls pass one at a time, so that the
 * order of the record is the order in which things happened.
 */

import type { Clock } from "../../model/clock.js";
import { isDeadLetterTopic } from "../../model/topic.js";
import type { Claim } from "../../ports/groups.js";
import type { AppendResult } from "../../ports/log.js";
import type { Store } from "../../ports/store.js";
import type { Recorder } from "../history/index.js";
import { interceptStore, type StoreCall } from "../store-calls.js";
import { letterOrigin } from "./naming.js";

/** More calls than this at one moment: somebody asks and asks, and time cannot go on. */
const MAX_CALLS_AT_ONCE = 4_000;

/** One at a time, in the order of arrival. */
export class Turnstile {
  readonly #clock: Clock;
  readonly #onJam: () => void;
  #last: Promise<unknown> = Promise.resolve();
  #nowMs = 0;
  #calls = 0;

  constructor(clock: Clock, onJam: () => void) {
    this.#clock = clock;
    this.#onJam = onJam;
  }

  pass<T>(go: () => Promise<T>): Promise<T> {
    this.#count();
    const mine = this.#calls > MAX_CALLS_AT_ONCE ? new Promise<never>(() => undefined) : this.#last.then(go);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  #count(): void {
    const nowMs = this.#clock.steady();
    this.#calls = nowMs === this.#nowMs ? this.#calls + 1 : 1;
    this.#nowMs = nowMs;
    if (this.#calls === MAX_CALLS_AT_ONCE) this.#onJam();
  }
}

/** The store as `member` sees it, under observation. */
export function observedStore(store: Store, member: string, recorder: Recorder, turnstile: Turnstile): Store {
  return interceptStore(store, {
    around: (call, proceed) =>
      turnstile.pass(async () => {
        const result = await proceed();
        if (call.name === "groups.commit" || call.name === "groups.release")
          await noteCursor(store, call, recorder);
        else if (call.name === "log.trim" || call.name === "registry.removeTopic")
          await noteRemoval(store, call, result, recorder);
        else note(call, result, member, recorder);
        return result;
      }),
  });
}

function note(call: StoreCall, result: unknown, member: string, recorder: Recorder): void {
  switch (call.name) {
    case "groups.start": {
      const [{ group, topic }, floors] = call.args;
      floors.forEach((floor, partition) => {
        recorder.record({ type: "started", group, topic, partition, floor });
      });
      break;
    }
    case "groups.claim": {
      const claim = result as Claim | null;
      const { group, topic, partition } = call.args[0];
      if (claim === null) break;
      const { epoch, cursor } = claim;
      recorder.record({ type: "granted", group, topic, partition, member, epoch, cursor });
      break;
    }
    case "groups.move": {
      const [{ group, topic, partition }, cursor] = call.args;
      recorder.record({ type: "moved", group, topic, partition, cursor });
      break;
    }
    case "documents.transact": {
      const [{ cursor: unit }] = call.args;
      if (unit === undefined) break;
      const { group, topic, partition } = unit.ref;
      const { epoch, cursor } = unit;
      recorder.record({ type: "committed", group, topic, partition, epoch, cursor, released: false });
      break;
    }
    case "log.append":
      noteDeadLetters(call, result as AppendResult, recorder);
      break;
    default:
      break;
  }
}

/** What the store then holds: a cursor that came behind a newer one of its epoch took no effect. */
async function noteCursor(
  store: Store,
  call: Extract<StoreCall, { name: "groups.commit" | "groups.release" }>,
  recorder: Recorder,
): Promise<void> {
  const [{ group, topic, partition }, epoch, cursor] = call.args;
  const state = await store.groups.state({ group, topic }, { nowMs: 0 });
  const lease = state?.leases.find((one) => one.partition === partition);
  const newer = lease?.epoch === epoch && lease.cursor.floor > cursor.floor ? lease.cursor : null;
  const released = call.name === "groups.release";
  if (newer !== null && !released) return;
  recorder.record({
    type: "committed",
    ...{ group, topic, partition, epoch, cursor: newer ?? cursor, released },
  });
}

/** With what is left: a later removal would hide what went with this one. */
async function noteRemoval(
  store: Store,
  call: Extract<StoreCall, { name: "log.trim" | "registry.removeTopic" }>,
  result: unknown,
  recorder: Recorder,
): Promise<void> {
  const [topic] = call.args;
  const heads = await store.log.heads(topic);
  if (call.name === "log.trim") {
    const [, partition, through] = call.args;
    const low = heads.find((head) => head.partition === partition)?.low ?? 1;
    recorder.record({ type: "trimmed", topic, partition, through, low });
  } else if (result === true) {
    const events = heads.reduce((sum, head) => sum + head.events, 0);
    recorder.record({ type: "topic-removed", topic, events });
  }
}

function noteDeadLetters(
  call: Extract<StoreCall, { name: "log.append" }>,
  result: AppendResult,
  recorder: Recorder,
): void {
  const [to, , , fence] = call.args;
  if (!isDeadLetterTopic(to)) return;
  for (const event of result.events) {
    const origin = letterOrigin(event);
    if (origin === undefined) continue;
    const { group, topic, partition, seq, id } = origin;
    const epoch = fence === undefined ? undefined : { epoch: fence.epoch };
    recorder.record({ type: "dead-lettered", group, topic, partition, seq, id, ...epoch });
  }
}
