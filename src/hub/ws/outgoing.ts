/**
 * What goes out on a WebSocket: frames that one callback of Node's leads to travel in one write (and in one message, for
 * clients that take arrays), and a reader that does not keep up is noticed: `onFull` when too much waits, `onFlooded` when twice as
 * much does, `onRoom` when it has gone.
 *
 * Events that follow each other and have the same surroundings are one frame, for clients that take that, and so are answers to
 * publishes that stand one behind the other: a frame stays open until something else is sent.
 */
import type { WebSocket } from "ws";
import type { StoredEvent } from "../../model/event.js";
import type { Place } from "../../model/event-bus.js";
import { afterReactions } from "../../model/soon.js";
import { Message, sendAscii, sendMessage } from "../message-bytes.js";
import { EventsRun } from "./events-run.js";
import { PlacedRun, placedOne } from "./publish-frame.js";

/** A message ends behind the frame, or the event of a run, with which it has more. */
const MAX_MESSAGE_CHARS = 65_536;
/** So many times what may wait. */
const FLOOD = 2;

export interface OutgoingOptions {
  readonly maxBufferBytes: number;
  readonly onFull: () => void;
  /** Events wait from `onFull` on, so that this is answers: whoever asks does not read them. */
  readonly onFlooded: () => void;
  readonly onRoom: () => void;
}

/** What stands before and after an event in its frame; of a run up to the number of its first lease, and behind its last event. */
export interface Around {
  readonly head: string;
  readonly tail: string;
}

export class Outgoing {
  readonly #socket: WebSocket;
  readonly #options: OutgoingOptions;
  /** For a client that takes no arrays: whole frames. */
  #singles: string[] = [];
  #singleChars = 0;
  #message = new Message();
  /** Events that others may join. */
  #run: EventsRun | null = null;
  /** Answers that others may join. Never open together with a run of events. */
  #placed: PlacedRun | null = null;
  #takesArrays = false;
  #scheduled = false;
  #full = false;
  #flooded = false;

  constructor(socket: WebSocket, options: OutgoingOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  get full(): boolean {
    return this.#full;
  }

  get flooded(): boolean {
    return this.#flooded;
  }

  /** The client takes several frames in one message. */
  takeArrays(): void {
    if (this.#takesArrays) return;
    this.flush();
    this.#takesArrays = true;
  }

  send(frame: string): void {
    this.#endRun();
    this.#push(frame);
    this.#flushSoon();
  }

  /** The answer to a publish, for whoever takes several in one frame. */
  sendPlaced(corr: number, topic: string, place: Place): void {
    if (this.#placed?.add(corr, topic, place)) return;
    this.#endRun();
    this.#placed = new PlacedRun(corr, topic, place);
    this.#flushSoon();
  }

  /** As `sendPlaced`, without waiting for the end of the turn: nothing is to go along with it. */
  sendPlacedNow(corr: number, topic: string, place: Place): void {
    const isEmpty = this.#message.frames === 0 && this.#run === null && this.#placed === null;
    if (isEmpty && this.#takesArrays && this.#socket.readyState === this.#socket.OPEN) {
      sendAscii(this.#socket, placedOne(corr, topic, place), this.#written);
      this.#lookForRoom();
    } else {
      this.sendPlaced(corr, topic, place);
      this.flush();
    }
  }

  /** `lease`: its number in a run, for whoever takes arrays; null if it goes in a frame of its own. */
  sendEvent(around: Around, lease: number | null, event: StoredEvent): void {
    if (lease === null) {
      this.send(around.head + event.json + around.tail);
      return;
    }
    if (!this.#run?.add(around, lease, event)) {
      this.#endRun();
      this.#run = new EventsRun(around, lease, event);
    }
    this.#flushSoon();
  }

  #endRun(): void {
    const run = this.#run;
    const placed = this.#placed;
    this.#run = null;
    this.#placed = null;
    if (run !== null) run.writeTo(this.#message);
    else if (placed !== null) this.#push(placed.text());
  }

  #push(frame: string): void {
    if (this.#takesArrays) this.#message.begin(frame);
    else {
      this.#singles.push(frame);
      this.#singleChars += frame.length;
    }
  }

  #flushSoon(): void {
    const open = this.#run?.size ?? 0;
    if (this.#message.size + this.#singleChars + open > MAX_MESSAGE_CHARS) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      // The loop's other callbacks are not waited for.
      afterReactions(this.#endTurn);
    }
  }

  readonly #endTurn = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  /** Sends what there is, without waiting for the end of the turn. */
  readonly flush = (): void => {
    this.#endRun();
    const message = this.#message;
    const singles = this.#singles;
    if (message.frames + singles.length === 0) return;
    this.#message = new Message();
    this.#singles = [];
    this.#singleChars = 0;
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (singles.length > 0) this.#write(singles);
    else sendMessage(this.#socket, message, this.#written);
    this.#lookForRoom();
  };

  /** Answers a ping of WebSocket's own, which counts like everything that goes out. */
  pong(data: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.pong(data, false, this.#written);
    this.#lookForRoom();
  }

  #lookForRoom(): void {
    const { maxBufferBytes, onFull, onFlooded } = this.#options;
    const bytes = this.#socket.bufferedAmount;
    if (bytes <= maxBufferBytes) return;
    if (!this.#full) {
      this.#full = true;
      onFull();
    }
    if (this.#flooded || bytes <= FLOOD * maxBufferBytes) return;
    this.#flooded = true;
    onFlooded();
  }

  #write(messages: readonly string[]): void {
    const raw = (this.#socket as unknown as { _socket?: { cork(): void; uncork(): void } })._socket;
    raw?.cork();
    for (let i = 0; i < messages.length - 1; i++) this.#socket.send(messages[i] as string, ignore);
    this.#socket.send(messages.at(-1) as string, this.#written);
    raw?.uncork();
  }

  readonly #written = (): void => {
    if (!this.#full || this.#socket.bufferedAmount * 4 > this.#options.maxBufferBytes) return;
    this.#full = false;
    this.#flooded = false;
    this.#options.onRoom();
  };
}

/** A failed write shows as the socket's end. */
function ignore(): void {}
