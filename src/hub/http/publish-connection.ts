/**
 * The way of most publishes, straight from the socket to the bus: POST /publish with a JSON body, one at a time. node:http costs
 * more than all that is done with an event, so a connection is read here as long as it does nothing else. At the first thing
 * that is not exactly that it goes to node:http, with all that was not answered yet, and stays there: both answer alike, since
 * they share rights, rates, parsing and problems.
 *
 *            whole request                    answered
 *   idle ---------------------> answering ---------------> idle
 *    |  \ part of a body
 *    |   > reading ---whole---> answering
 *    |        | nothing for a while, or the client ends
 *    +--------+--- anything else ------> handed over
 */
import { type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Caller } from "../auth/auth.js";
import type { HubContext } from "../context.js";
import { bearer, problemAnswer } from "./answers.js";
import { refuse, tooSlow } from "./connection-room.js";
import { type PublishAsker, publishBody } from "./publish-body.js";
import { type PublishHead, publishHead } from "./publish-head.js";
import type { PublishDesk } from "./publish-items.js";

const HEAD_END = "\r\n\r\n";
/** Heads that are longer go to node:http, which has a bound of its own. */
const MAX_HEAD_BYTES = 8_192;

/** The connections that are read here, for the server that they came to. */
export class PublishConnections {
  readonly hub: HubContext;
  readonly desk: PublishDesk;
  readonly keepAliveMs: number;
  readonly headTimeoutMs: number;
  readonly #accept: (socket: Socket) => void;
  readonly #open = new Set<PublishConnection>();
  readonly #keepAlive: string;
  #dated = { second: -1, headers: "" };

  /** Takes the server's connections from it, and gives back those that do more than publish. */
  constructor(server: Server, hub: HubContext, desk: PublishDesk) {
    this.hub = hub;
    this.desk = desk;
    this.keepAliveMs = server.keepAliveTimeout;
    this.headTimeoutMs = server.headersTimeout;
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(this.keepAliveMs / 1_000)}\r\n\r\n`;
    const listeners = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
    this.#accept = (socket) => {
      for (const listener of listeners) listener.call(server, socket);
    };
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => this.#open.add(new PublishConnection(socket, this)));
  }

  /** Ends those that wait for their client. */
  closeIdle(): void {
    for (const connection of this.#open) if (connection.isIdle) connection.destroy();
  }

  closeAll(): void {
    for (const connection of this.#open) connection.destroy();
  }

  forget(connection: PublishConnection): void {
    this.#open.delete(connection);
  }

  handOver(connection: PublishConnection, socket: Socket, unread: readonly Buffer[]): void {
    this.forget(connection);
    this.pass(socket, unread);
  }

  /** To node:http, with what was read of it. */
  pass(socket: Socket, unread: readonly Buffer[]): void {
    for (let i = unread.length - 1; i >= 0; i--) socket.unshift(unread[i]);
    socket.setTimeout(0);
    this.#accept(socket);
    // It may be paused, and whoever listens now does not know.
    socket.resume();
  }

  /** The headers that end every head: made once a second. */
  lastHeaders(): string {
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#dated.second) {
      const date = new Date(second * 1_000).toUTCString();
      this.#dated = { second, headers: `Date: ${date}\r\n${this.#keepAlive}` };
    }
    return this.#dated.headers;
  }
}

/** A request whose body is not all there. */
interface Unfinished {
  readonly head: PublishHead;
  readonly bodyAt: number;
  /** On the steady clock. */
  readonly sinceMs: number;
  readonly pieces: Buffer[];
  bytes: number;
}

class PublishConnection implements PublishAsker {
  readonly #socket: Socket;
  readonly #all: PublishConnections;
  #unfinished: Unfinished | null = null;
  #answering = false;
  /** What came before the answer was given. */
  #early: Buffer[] = [];
  #isEnded = false;

  constructor(socket: Socket, all: PublishConnections) {
    this.#socket = socket;
    this.#all = all;
    socket.on("data", this.#onData).on("end", this.#onEnd).on("timeout", this.#onTimeout);
    socket.on("drain", this.#onDrain).on("error", this.#onError).on("close", this.#onClose);
    // Any byte in either direction begins it anew.
    socket.setTimeout(all.headTimeoutMs);
  }

  get isIdle(): boolean {
    return !this.#answering && this.#unfinished === null;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#answering) this.#keep(chunk);
    else if (this.#unfinished === null) this.#begin(chunk);
    else this.#goOn(this.#unfinished, chunk);
  };

  /** One at a time: what comes before the answer waits for it, and nothing more is read meanwhile (P13). */
  #keep(early: Buffer): void {
    this.#early.push(early);
    this.#socket.pause();
  }

  #begin(chunk: Buffer): void {
    const { keepAliveMs } = this.#all;
    if (this.#socket.timeout !== keepAliveMs) this.#socket.setTimeout(keepAliveMs);
    const headEnd = chunk.indexOf(HEAD_END);
    const head =
      headEnd < 0 || headEnd > MAX_HEAD_BYTES
        ? undefined
        : publishHead(chunk.toString("latin1", 0, headEnd + 2));
    if (head === undefined || !this.#isTaken(head)) this.#handOver([chunk]);
    else {
      const bodyAt = headEnd + HEAD_END.length;
      if (chunk.length >= bodyAt + head.length) this.#take(head, bodyAt, chunk);
      // Who is not known yet is not given room for a body.
      else if (this.#all.hub.auth.known(bearer(head.authorization)) === undefined) this.#handOver([chunk]);
      else
        this.#unfinished = {
          head,
          bodyAt,
          sinceMs: this.#all.hub.bus.clock.steady(),
          pieces: [chunk],
          bytes: chunk.length,
        };
    }
  }

  #isTaken(head: PublishHead): boolean {
    const { limits, visitors } = this.#all.hub;
    return head.length <= limits.maxBodyBytes && visitors.mayAsk(head);
  }

  #goOn(unfinished: Unfinished, chunk: Buffer): void {
    const { head, bodyAt, sinceMs, pieces } = unfinished;
    pieces.push(chunk);
    unfinished.bytes += chunk.length;
    if (unfinished.bytes >= bodyAt + head.length) {
      this.#unfinished = null;
      this.#take(head, bodyAt, Buffer.concat(pieces));
      // node:http bounds the time that a request may take.
    } else if (this.#all.hub.bus.clock.steady() - sinceMs > this.#all.keepAliveMs) this.#handOver(pieces);
  }

  /** A whole request, and perhaps the beginning of another one. */
  #take(head: PublishHead, bodyAt: number, bytes: Buffer): void {
    const end = bodyAt + head.length;
    this.#answering = true;
    if (bytes.length > end) this.#keep(bytes.subarray(end));
    const body = bytes.subarray(bodyAt, end);
    const { auth } = this.#all.hub;
    const token = bearer(head.authorization);
    const caller = auth.known(token);
    if (caller !== undefined) this.#publish(head, body, caller);
    else
      auth.authenticate(token).then(
        (found) => this.#publish(head, body, found),
        (error: unknown) => this.fail(error),
      );
  }

  #publish(head: PublishHead, body: Buffer, caller: Caller): void {
    publishBody(this.#all.hub, this.#all.desk, caller, head, body, this);
  }

  published(text: string): void {
    this.#answer(200, OK_HEADERS, text);
  }

  fail(error: unknown): void {
    const { status, headers, text } = problemAnswer(this.#all.hub, "/publish", error);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#answer(status, lines.join(""), text);
  }

  #answer(status: number, headers: string, text: string): void {
    const length = Buffer.byteLength(text);
    const line = status === 200 ? OK_LINE : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    const whole = `${line}${headers}Content-Length: ${length}\r\n${this.#all.lastHeaders()}${text}`;
    this.#answering = false;
    if (this.#socket.destroyed) return;
    // Nothing but ASCII is the same in both, and costs less as the one.
    if (!this.#socket.write(whole, length === text.length ? "latin1" : "utf8")) this.#socket.pause();
    if (this.#isEnded) this.#socket.end();
    else if (this.#early.length > 0) this.#handOver(this.#early);
  }

  readonly #onDrain = (): void => {
    this.#socket.resume();
  };

  readonly #onEnd = (): void => {
    this.#isEnded = true;
    if (this.isIdle) this.#socket.end();
    else if (this.#unfinished !== null) this.#socket.destroy();
  };

  readonly #onTimeout = (): void => {
    if (this.#answering) return;
    if (this.#unfinished !== null) this.#handOver(this.#unfinished.pieces);
    // It never asked for anything: told as node:http tells it.
    else if (this.#socket.bytesRead === 0) refuse(this.#socket, tooSlow());
    else this.#socket.destroy();
  };

  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => this.#all.forget(this);

  #handOver(unread: readonly Buffer[]): void {
    const socket = this.#socket;
    socket.off("data", this.#onData).off("end", this.#onEnd).off("timeout", this.#onTimeout);
    socket.off("drain", this.#onDrain).off("error", this.#onError).off("close", this.#onClose);
    this.#all.handOver(this, socket, unread);
  }
}

const OK_LINE = "HTTP/1.1 200 OK\r\n";
const OK_HEADERS =
  "Content-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
