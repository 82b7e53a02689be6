/**
 * What a client asks of its hub and has no answer to: kept as it was said, and said again on the next connection, or once the hub
 * can do again what it could not do for now.
 */
import type { ErrFrame, OkFrame, PlacedFrame } from "../hub/protocol.js";
import { systemClock } from "../model/clock.js";
import { BusError, type ErrorCode } from "../model/errors.js";
import { Numbered } from "../model/numbered.js";
import type { Connection } from "./connection.js";

/** Where a published event stands. */
export interface Published {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly seq: number;
  readonly duplicate?: true;
}

/** A subscription that is asked for. */
export interface Asked {
  readonly frame: { readonly topic: string; readonly group: string };
  readonly left: boolean;
}

/** A publish, a subscription that is asked for, one that is left, or anything else. */
export type About = Pick<Published, "topic" | "id"> | Asked | "leaving" | null;

/** How much may wait for an answer. */
export interface Room {
  readonly requests: number;
  readonly chars: number;
}

interface Pending {
  readonly corr: number;
  readonly text: string;
  readonly about: About;
  /** It is asked again as long as the hub cannot do it. */
  readonly insists: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: BusError) => void;
}

const WAIT_AND_RETRY: ReadonlySet<string> = new Set([
  "RATE_LIMITED",
  "QUEUE_FULL",
  "STORE_UNAVAILABLE",
  "OUTCOME_UNKNOWN",
  // The hub goes down: the next connection has the answer.
  "CLOSED",
]);

const TRY_AGAIN_MS = 200;
/** Longer than this nobody waits, however many do. */
const MOST_WAIT_MS = 5_000;

export class Requests {
  readonly #connection: Connection;
  readonly #room: Room;
  /** Oldest first. */
  readonly #pending = new Numbered<Pending>();
  #corr = 0;
  /** Lines so far. */
  #line = 0;
  #bufferedChars = 0;
  /** Those that were too fast, and wait. */
  #tooFast = 0;

  constructor(connection: Connection, room: Room) {
    this.#connection = connection;
    this.#room = room;
  }

  /** Refused with QUEUE_FULL if too much waits already. */
  ask(textOf: (corr: number) => string, about: About = null): Promise<unknown> {
    return this.#ask(textOf, about, true);
  }

  /** There is always room for it, and it is said until it is heard: what is leased to nobody here would wait for its deadline. */
  leave(textOf: (corr: number) => string): Promise<unknown> {
    return this.#ask(textOf, "leaving", false);
  }

  /** Subscriptions of the last connection first, then whatever was not answered, in its order. */
  resume<A extends Asked>(all: Iterable<A>, comeBack: (asked: A) => void): void {
    this.#line++;
    const pending = this.#pending.all();
    const asked = new Set<unknown>(pending.map(({ about }) => about));
    for (const one of all) if (!asked.has(one)) comeBack(one);
    for (const { text } of pending) this.#connection.sendText(text);
  }

  /** Nobody waits for what it asks, and there is always room for it: a subscriber was promised that. */
  insist(textOf: (corr: number) => string, about: Asked, reject: (error: BusError) => void): void {
    const corr = ++this.#corr;
    const text = textOf(corr);
    this.#await({ corr, text, about, insists: true, resolve: ignore, reject });
    this.#connection.sendText(text);
  }

  answered(frame: OkFrame | ErrFrame): void {
    if (typeof frame.corr !== "number") return;
    const pending = this.#pending.get(frame.corr);
    if (pending === undefined) return;
    if (frame.type === "ERR" && goesOnAsking(pending, frame.code)) {
      this.#waitAndAsk(pending, frame);
      return;
    }
    this.#forget(pending);
    if (frame.type === "OK") pending.resolve(frame.result);
    else pending.reject(refusal(frame));
  }

  /** The hub says when it takes one more: of thousands that were too fast each would be told the same, and all but one come in vain. */
  #waitAndAsk(pending: Pending, { code, retry_after_ms: waitMs = TRY_AGAIN_MS }: ErrFrame): void {
    const line = this.#line;
    const isTooFast = code === "RATE_LIMITED";
    if (isTooFast) this.#tooFast++;
    systemClock.setTimer(isTooFast ? Math.min(waitMs * this.#tooFast, MOST_WAIT_MS) : waitMs, () => {
      if (isTooFast) this.#tooFast--;
      this.#again(pending, line);
    });
  }

  placed({ corrs, partition, seq }: PlacedFrame): void {
    let at = seq;
    for (const corr of corrs) this.placedOne(corr, partition, at++);
  }

  placedOne(corr: number, partition: number, seq: number): void {
    const pending = this.#pending.get(corr);
    if (pending === undefined || !isPublish(pending.about)) return;
    this.#forget(pending);
    const { id, topic } = pending.about;
    pending.resolve({ id, topic, partition, seq } satisfies Published);
  }

  /** What is about a subscription that was left has no meaning on another connection. */
  giveUpLeft(): void {
    for (const pending of this.#pending.all()) if (isOver(pending)) this.#giveUp(pending);
  }

  /**
   * The hub closed the connection for the size of a message. One that held a single frame would be refused for ever, so
   * that frame is given up; otherwise fewer go together.
   */
  giveUpLargest(): void {
    let largest: Pending | undefined;
    for (const pending of this.#pending.all())
      if (pending.text.length > (largest?.text.length ?? 0)) largest = pending;
    if (largest === undefined || largest.text.length <= this.#connection.messageChars) {
      this.#connection.shrinkMessages();
      return;
    }
    this.#forget(largest);
    const size = `${largest.text.length} characters`;
    largest.reject(new BusError("PAYLOAD_TOO_LARGE", `the hub does not take a message of ${size}`));
  }

  /** There will be no answer. To leave is what happened. */
  close(error: BusError): void {
    for (const pending of this.#pending.all()) {
      if (pending.about === "leaving") {
        this.#giveUp(pending);
        continue;
      }
      this.#forget(pending);
      pending.reject(error);
    }
  }

  #ask(textOf: (corr: number) => string, about: About, needsRoom: boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#connection.status === "closed") throw closed();
      const corr = ++this.#corr;
      const text = textOf(corr);
      if (needsRoom) this.#demandRoom(text.length);
      const insists = isPublish(about) || about === "leaving";
      this.#await({ corr, text, about, insists, resolve, reject });
      if (this.#connection.status === "online") this.#connection.sendText(text);
      else this.#connection.open();
    });
  }

  #await(pending: Pending): void {
    this.#pending.add(pending.corr, pending);
    this.#bufferedChars += pending.text.length;
  }

  #demandRoom(chars: number): void {
    const { size } = this.#pending;
    if (size < this.#room.requests && this.#bufferedChars + chars <= this.#room.chars) return;
    throw new BusError("QUEUE_FULL", `${size} requests wait for an answer; await them to slow down`);
  }

  /** Another line began with all that had no answer: asked twice there, a subscription would be refused the second time. */
  #again(pending: Pending, line: number): void {
    if (line !== this.#line || this.#pending.get(pending.corr) === undefined) return;
    if (isAsked(pending.about) && pending.about.left) this.#giveUp(pending);
    else if (this.#connection.status === "online") this.#connection.sendText(pending.text);
  }

  /** Nobody waits for what it asks. */
  #giveUp(pending: Pending): void {
    const { about, resolve, reject } = pending;
    this.#forget(pending);
    if (isAsked(about)) reject(leftEarly(about));
    else resolve(undefined);
  }

  #forget(pending: Pending): void {
    this.#pending.take(pending.corr);
    this.#bufferedChars -= pending.text.length;
  }
}

/** A subscription that is new is refused only by a hub that stays. */
function goesOnAsking({ insists, about }: Pending, code: string): boolean {
  return insists ? WAIT_AND_RETRY.has(code) : code === "CLOSED" && isAsked(about);
}

function isPublish(about: About): about is Pick<Published, "topic" | "id"> {
  return typeof about === "object" && about !== null && "id" in about;
}

function isAsked(about: About): about is Asked {
  return typeof about === "object" && about !== null && "frame" in about;
}

function isOver({ about }: Pending): boolean {
  return about === "leaving" || (isAsked(about) && about.left);
}

export function leftEarly({ frame: { topic, group } }: Asked): BusError {
  return new BusError(
    "ABORTED",
    `the subscription of ${topic} for ${group} was left before the hub had taken it on`,
  );
}

export function closed(): BusError {
  return new BusError("CLOSED", "this client is closed");
}

/** A hub that goes down is not a client that is closed: the same may well succeed at the next one. */
function refusal({ code, msg, failed }: ErrFrame): BusError {
  return new BusError(code as ErrorCode, msg, {
    ...(code === "CLOSED" && { retryable: true }),
    ...(failed !== undefined && { details: { failed } }),
  });
}

function ignore(): void {}
