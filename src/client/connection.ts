/**
 * One lasting connection made of many: opens a socket, greets, and opens another when it is lost.
 *
 *   offline --open--> connecting --greeting ok--> online --lost, token ran out--> offline (and again, after a wait)
 *   any --close, or a token that is refused--> closed
 */

import { CLIENT_TAKES, type ClientFrame, CloseCode, type ServerFrame } from "../hub/protocol.js";
import { type CancelTimer, systemClock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { backoffMs, type RetryPolicy } from "../model/retry.js";
import { AckRun, type Leased, type LeaseMark } from "./ack-run.js";
import { noSocket, noToken, notLetIn } from "./hindrances.js";
import { OPEN, type SocketLike, type SocketMaker } from "./socket.js";

/** How the line to the hub is: being made, up, down for now (it mends itself), or closed for good. */
export type Status = "offline" | "connecting" | "online" | "closed";

export interface ConnectionOptions {
  readonly url: string;
  readonly makeSocket: SocketMaker;
  /** Calls back when whatever goes on now is done. */
  readonly defer: (callback: () => void) => void;
  readonly getToken: () => Promise<string | undefined>;
  readonly retry: RetryPolicy;
  readonly pingMs: number;
  readonly onFrame: (frame: ServerFrame) => void;
  /** What a PLACED frame of one publish says, if the socket has read it. */
  readonly onPlaced: (corr: number, partition: number, seq: number) => void;
  /** Greeted: from here on frames go through. */
  readonly onOnline: () => void;
  readonly onOffline: () => void;
  /** The hub takes no message of that size, and the frames in it cannot be sent in smaller ones. */
  readonly onTooLarge: () => void;
  readonly onStatus: (status: Status, error?: BusError) => void;
  /** No hub answered, several times in a row, or none could be asked, for that reason. Told once until one does. */
  readonly onUnreachable: (reason?: BusError) => void;
  /** Calls back when the network may be back, or somebody looks again after a while. Returns how to end that. */
  readonly onWake: (callback: () => void) => () => void;
}

/** The hub refuses for good, unless it had recognised the token: then that ran out, and there may be another one. */
const REFUSED_CODES: ReadonlySet<number> = new Set([CloseCode.auth, CloseCode.forbidden]);
/** By which a WebSocket says that a message was too large. */
const TOO_LARGE = 1009;
/**
 * A message has no more characters, unless a single frame has: far less than a hub takes at once, and it can begin with
 * one message while the next is made.
 */
const MESSAGE_CHARS = 65_536;
const GREETING = "auth";
const SETTLES = /^\{"type":"N?ACK"/;
/** A hub that is started anew is back before that. */
const FAILURES_TOLD = 5;
/** What this part of `pingMs` brings no answer to, once the network may be back, is dead. */
const WAKE_PART = 0.25;
/** Looks at the line may be late (pages in the background): only a PING that nothing followed tells that it is dead. */
const SILENCE_PART = 1.5;
const REFUSED =
  "the hub refused the token; `promethean token inspect` tells what is in it, and whether it ran out";
const NO_TOKEN = "the hub wants a token, and this client has none: give it token or getToken";

export class Connection {
  readonly #options: ConnectionOptions;
  #socket: SocketLike | null = null;
  #status: Status = "offline";
  #failures = 0;
  #cancelRetry: CancelTimer | undefined;
  #pingTimer: ReturnType<typeof setInterval> | undefined;
  #cancelWake: CancelTimer | undefined;
  #stopWaking: (() => void) | undefined;
  /** Times are those of a clock that nobody sets. */
  #heardMs = 0;
  /** When the PING was sent that nothing followed yet. */
  #pingedMs: number | undefined;
  /** Why no hub could be asked the last time. */
  #hindrance: BusError | undefined;
  #outgoing: string[] = [];
  #outgoingChars = 0;
  #messageChars = MESSAGE_CHARS;
  #isFlushDue = false;
  /** The last of what goes out, if that is acks: more of them may join it. */
  #acks: AckRun | null = null;
  /** What the hub has said that it takes beyond the first version of the protocol. */
  #hubTakes: readonly unknown[] = [];
  /** There is a token to greet the hub with; without one, the hub must need none, or know the client by its upgrade request. */
  #hasToken = false;
  /** The hub has recognised the token that it was greeted with. */
  #isRecognised = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get status(): Status {
    return this.#status;
  }

  /** Dials, unless it waits to do so: whoever publishes meanwhile must not make a hub that comes back be asked again and again. */
  open(): void {
    if (this.#status !== "offline" || this.#cancelRetry !== undefined) return;
    this.#stopWaking ??= this.#options.onWake(() => this.#wake());
    void this.#dial();
  }

  /** No frame that is longer goes together with others. */
  get messageChars(): number {
    return this.#messageChars;
  }

  /** Frames of one turn go together, as far as they fit. Call only while online. */
  send(frame: ClientFrame): void {
    this.sendText(JSON.stringify(frame));
  }

  /** As `send`, for a frame that is a text already. */
  sendText(frame: string): void {
    this.#endAcks();
    this.#push(frame);
  }

  /** Whether the hub has said that it takes this beyond the first version of the protocol. */
  takes(name: string): boolean {
    return this.#hubTakes.includes(name);
  }

  /** From now on fewer frames go together. */
  shrinkMessages(): void {
    this.#messageChars = Math.floor(this.#messageChars / 8);
  }

  close(): void {
    this.#sendSettled();
    this.#setStatus("closed");
    this.#drop(1000, "bye");
  }

  /** Settles one event: acks that follow each other go in one frame, if the hub takes that. */
  ack(leased: Leased, mark: LeaseMark): void {
    const joins = typeof mark === "number" || this.takes("ids");
    if (joins && this.#acks?.add(leased, mark)) return;
    this.#endAcks();
    this.#acks = new AckRun(leased, mark);
    this.#flushSoon();
  }

  #endAcks(): void {
    const run = this.#acks;
    if (run === null) return;
    this.#acks = null;
    this.#push(run.text());
  }

  #push(frame: string): void {
    if (this.#outgoingChars + frame.length > this.#messageChars) this.#sendOut();
    this.#outgoingChars += frame.length;
    this.#outgoing.push(frame);
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    this.#options.defer(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isFlushDue = false;
    this.#endAcks();
    this.#sendOut();
  };

  /**
   * The last of it: nobody could settle these events again, and they would come to somebody else. Nothing else goes with them: what is
   * told CLOSED should not have been published all the same.
   */
  #sendSettled(): void {
    this.#endAcks();
    this.#outgoing = this.#outgoing.filter((frame) => SETTLES.test(frame));
    this.#sendOut();
  }

  #sendOut(): void {
    const frames = this.#outgoing;
    const chars = this.#outgoingChars;
    const socket = this.#socket;
    this.#outgoing = [];
    this.#outgoingChars = 0;
    if (socket?.readyState !== OPEN || frames.length === 0) return;
    if (socket.sendFrames !== undefined) socket.sendFrames(frames, chars);
    else socket.send(`[${frames.join(",")}]`);
  }

  async #dial(): Promise<void> {
    const { makeSocket, url, getToken } = this.#options;
    this.#setStatus("connecting");
    let token: string | undefined;
    let socket: SocketLike;
    try {
      token = await getToken().catch(noToken);
      socket = socketOf(makeSocket, url);
    } catch (error) {
      this.#hindrance = error as BusError;
      this.#lost(1006);
      return;
    }
    this.#hindrance = undefined;
    if (this.#status === "closed") return socket.close();
    this.#socket = socket;
    // From here on: also a line that is taken, and never opened, has gone dead.
    this.#heard();
    this.#pingTimer = setInterval(() => this.#ping(), this.#options.pingMs);
    socket.onopen = () => this.#greet(socket, token);
    socket.onmessage = ({ data }) => this.#receive(socket, String(data));
    socket.onplaced = (corr, partition, seq) => {
      if (socket !== this.#socket) return;
      this.#heard();
      this.#options.onPlaced(corr, partition, seq);
    };
    socket.onclose = ({ code }) => this.#socket === socket && this.#lost(code);
    socket.onerror = () => undefined;
  }

  #heard(): void {
    this.#heardMs = systemClock.steady();
    this.#pingedMs = undefined;
  }

  #greet(socket: SocketLike, token: string | undefined): void {
    this.#heard();
    this.#hasToken = token !== undefined;
    socket.send(JSON.stringify(greeting(token)));
  }

  #receive(socket: SocketLike, text: string): void {
    if (socket !== this.#socket) return;
    this.#heard();
    for (const frame of framesIn(text)) {
      if (!isFrame(frame) || !this.#take(frame)) {
        // Not from a hub, or not as it was sent. What had no answer is sent again on the next line.
        this.#drop(CloseCode.protocol, "not understood");
        return;
      }
      // Whoever got it may have closed the line; the rest of the message is of no use then.
      if (socket !== this.#socket) return;
    }
  }

  /** False if a part of it is missing. */
  #take(frame: ServerFrame): boolean {
    if ("corr" in frame && frame.corr === GREETING) {
      if (frame.type === "OK") this.#greeted(frame.result);
      // What there is to tell if it goes on so.
      else if (frame.type === "ERR") this.#hindrance = notLetIn(frame);
      return true;
    }
    try {
      this.#options.onFrame(frame);
      return true;
    } catch {
      return false;
    }
  }

  #greeted(hub: unknown): void {
    const { takes } = (hub ?? {}) as { readonly takes?: unknown };
    this.#hubTakes = Array.isArray(takes) ? takes : [];
    this.#isRecognised = this.#hasToken;
    this.#online();
  }

  #online(): void {
    this.#failures = 0;
    this.#setStatus("online");
    this.#options.onOnline();
  }

  /** A line that went dead without a word is noticed by the silence after a PING. */
  #ping(): void {
    const { pingMs } = this.#options;
    const nowMs = systemClock.steady();
    const isDead =
      this.#status === "online"
        ? this.#pingedMs !== undefined && nowMs - this.#pingedMs > pingMs * SILENCE_PART
        : nowMs - this.#heardMs > pingMs * 2.5;
    if (isDead) this.#drop(4000, "no answer");
    else if (this.#status === "online") this.#sendPing();
  }

  #sendPing(): void {
    this.#pingedMs ??= systemClock.steady();
    this.send({ type: "PING" });
  }

  /** The wait for another connection is over now, and a line that was up has to show soon that it still is. */
  #wake(): void {
    if (this.#status === "offline") {
      this.#endWait();
      this.open();
    } else if (this.#status === "online") {
      this.#cancelWake?.();
      this.#sendPing();
      this.#cancelWake = systemClock.setTimer(this.#options.pingMs * WAKE_PART, () => {
        if (this.#pingedMs !== undefined) this.#drop(4000, "no answer");
      });
    }
  }

  #drop(code: number, reason: string): void {
    const socket = this.#socket;
    this.#lost(code);
    socket?.close(code, reason);
  }

  #lost(code: number): void {
    clearInterval(this.#pingTimer);
    this.#endWait();
    this.#cancelWake?.();
    this.#socket = null;
    this.#outgoing = [];
    this.#outgoingChars = 0;
    this.#acks = null;
    this.#hubTakes = [];
    const ranOut = this.#isRecognised && code === CloseCode.auth;
    this.#isRecognised = false;
    this.#options.onOffline();
    if (this.#status === "closed") return;
    if (code === TOO_LARGE) this.#options.onTooLarge();
    if (REFUSED_CODES.has(code) && !ranOut) {
      const isWanting = this.#status === "connecting" && !this.#hasToken;
      const why = isWanting ? NO_TOKEN : REFUSED;
      this.#setStatus("closed", new BusError("UNAUTHENTICATED", why));
      return;
    }
    this.#setStatus("offline");
    if (++this.#failures === FAILURES_TOLD) this.#options.onUnreachable(this.#hindrance);
    const waitMs = backoffMs(this.#options.retry, this.#failures, Math.random());
    this.#cancelRetry = systemClock.setTimer(waitMs, () => {
      this.#endWait();
      this.open();
    });
  }

  #endWait(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }

  #setStatus(status: Status, error?: BusError): void {
    if (status === this.#status) return;
    this.#status = status;
    if (status === "closed") this.#stopWaking?.();
    this.#options.onStatus(status, error);
  }
}

/**
 * Its last frame is the one whose answer counts. Any hub answers a PING, whoever sent it; a RESUME only to those it knows, and on
 * a new connection it changes nothing.
 */
function greeting(token: string | undefined): readonly ClientFrame[] {
  const says = { takes: CLIENT_TAKES };
  if (token !== undefined) return [{ type: "AUTH", token, corr: GREETING, ...says }];
  return [
    { type: "PING", ...says },
    { type: "RESUME", corr: GREETING },
  ];
}

/** What a message holds: frames, if a hub sent it. Of one that is not JSON, something that is no frame. */
function framesIn(text: string): readonly unknown[] {
  try {
    const message: unknown = JSON.parse(text);
    return Array.isArray(message) ? message : [message];
  } catch {
    return [undefined];
  }
}

function isFrame(value: unknown): value is ServerFrame {
  return typeof value === "object" && value !== null;
}

function socketOf(makeSocket: SocketMaker, url: string): SocketLike {
  try {
    return makeSocket(url);
  } catch (error) {
    throw noSocket(url, error);
  }
}
