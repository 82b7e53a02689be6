/** Writes down what goes over a client's sockets, for the checker: what it was handed, and what it settled. */
import { WebSocket } from "ws";
import type { DeliveringFrame } from "../../src/client/deliveries.js";
import { eventAt } from "../../src/client/runs.js";
import type { SocketLike, SocketMaker } from "../../src/client/socket.js";
import type { ClientFrame, ServerFrame } from "../../src/hub/protocol.js";
import type { EventRecord } from "../../src/model/event.js";
import type { Recorder } from "../../src/testing/history/index.js";

interface Placed {
  readonly partition: number;
  readonly seq: number;
  readonly duplicate?: boolean;
}

/** One event that was handed out, and the frame it came in. */
interface Handed {
  readonly event: EventRecord;
  readonly frame: DeliveringFrame;
}

export class WireRecord {
  readonly sockets: WebSocket[] = [];
  readonly #recorder: Recorder;
  readonly #member: string;
  /** By event id, or by subscription and number of the lease: what was handed out last. */
  readonly #held = new Map<string, Handed>();
  /** By corr: the operation that a publish is. */
  readonly #publishes = new Map<string | number, number>();

  constructor(recorder: Recorder, member: string) {
    this.#recorder = recorder;
    this.#member = member;
  }

  readonly makeSocket: SocketMaker = (url) => {
    const socket = new WebSocket(url);
    this.sockets.push(socket);
    socket.on("message", (data) => {
      for (const frame of framesOf<ServerFrame>(data.toString())) this.#received(frame);
    });
    const send = socket.send.bind(socket) as (data: string) => void;
    const spied = (data: string): void => {
      for (const frame of framesOf<ClientFrame>(data)) this.#sent(frame);
      send(data);
    };
    return Object.assign(socket, { send: spied }) as unknown as SocketLike;
  };

  /** The newest line is up. */
  get open(): boolean {
    return this.sockets.at(-1)?.readyState === WebSocket.OPEN;
  }

  /** The line breaks, without a word. */
  cut(): void {
    this.sockets.at(-1)?.terminate();
  }

  #received(frame: ServerFrame): void {
    if (frame.type === "EVENT") this.#handed((frame.event as EventRecord).id, frame.event, frame);
    if (frame.type === "EVENTS") {
      const { subscription, topic, group, lease } = frame;
      const events = frame.ids.map((_, n) => eventAt(frame, n));
      events.forEach((event, index) => {
        this.#handed(leaseKey(subscription ?? topic, group, lease + index), event, frame);
      });
    }
    if (frame.type === "PLACED") {
      const { partition, seq, corrs } = frame;
      corrs.forEach((corr, index) => {
        this.#placed(corr, { partition, seq: seq + index });
      });
    }
    if (frame.type === "OK" && frame.corr !== undefined)
      this.#placed(frame.corr, (frame.result ?? {}) as Placed);
  }

  #placed(corr: string | number, { partition, seq, duplicate = false }: Placed): void {
    const op = this.#publishes.get(corr);
    if (op === undefined) return;
    this.#publishes.delete(corr);
    this.#recorder.record({ type: "publish-ok", op, partition, seq, duplicate });
  }

  #sent(frame: ClientFrame): void {
    if (frame.type === "PUBLISH" && frame.corr !== undefined && !this.#publishes.has(frame.corr)) {
      const op = this.#recorder.nextOp();
      this.#publishes.set(frame.corr, op);
      const { topic, id = "", key } = frame;
      this.#recorder.record({
        type: "publish-asked",
        op,
        producer: this.#member,
        topic,
        id,
        ...(key && { key }),
      });
    }
    if (frame.type !== "ACK") return;
    if ("leases" in frame) {
      for (const [first, last] of frame.leases)
        for (let lease = first; lease <= last; lease++)
          this.#acked(leaseKey(frame.topic, frame.group, lease));
    } else for (const id of "ids" in frame ? frame.ids : [frame.id]) this.#acked(id);
  }

  #handed(key: string, given: unknown, frame: DeliveringFrame): void {
    const event = given as EventRecord;
    const handed = { event, frame };
    this.#held.set(key, handed);
    this.#recorder.record({
      type: "delivered",
      ...this.#handling(handed),
      ...(event.key && { key: event.key }),
    });
  }

  #acked(key: string): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    const op = this.#recorder.nextOp();
    this.#recorder.record({ type: "settled", outcome: "acked", op, ...this.#handling(held) });
  }

  #handling({ event, frame }: Handed) {
    const { topic, partition, seq, id } = event;
    const { group, ctx } = frame;
    const { epoch, attempt } = ctx;
    return { member: this.#member, group, topic, partition, seq, id, epoch, attempt };
  }
}

function framesOf<F>(text: string): F[] {
  const message = JSON.parse(text) as F | F[];
  return Array.isArray(message) ? message : [message];
}

/** A later connection begins its numbers anew, and takes the places of those before it. */
function leaseKey(topic: string, group: string, lease: number): string {
  return `${topic}\n${group}\n${lease}`;
}
