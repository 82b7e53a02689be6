/**
 * The hub: one process that serves HTTP and WebSocket on a bus. Going down, it refuses new work first, tells its
 * clients to come back, and lets what is under way finish; the bus stays its owner's.
 */

import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, isIPv6, type Socket } from "node:net";
import type { Logger } from "pino";
import { WebSocketServer } from "ws";
import type { Bus } from "../bus/bus.js";
import { loadTracing, type Tracing } from "../bus/tracing.js";
import { pause, systemClock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { Seldom } from "../model/seldom.js";
import { type Authenticator, type AuthOptions, areKeysAway, type Caller, REFUSED } from "./auth/auth.js";
import { authenticatorOf } from "./auth/authenticator.js";
import type { HubContext } from "./context.js";
import { Feeders } from "./feeders.js";
import { bearer } from "./http/answers.js";
import { createHttp } from "./http/app.js";
import { boundConnections, refuse, refuseForNow, refuseUnreadable } from "./http/connection-room.js";
import { allAnswered, offersWebSocket, withoutOffer } from "./http/other-offers.js";
import { PublishConnections } from "./http/publish-connection.js";
import { PublishDesk } from "./http/publish-items.js";
import { checkHubOptions } from "./hub-options.js";
import { HubRoll } from "./hub-roll.js";
import { Jobs } from "./jobs.js";
import { DEFAULT_HUB_LIMITS, type HubLimits } from "./limits.js";
import { LiveStats } from "./metrics/live-stats.js";
import type { HubMetrics } from "./metrics/metrics.js";
import { HubError } from "./problem.js";
import { Visitors } from "./visitors.js";
import { Watch } from "./watch.js";
import { SessionShell } from "./ws/session-shell.js";

/** What startHub takes: a bus, who gets in, and where to listen. */
export interface HubOptions {
  /** What it serves. Closing it stays with the caller. */
  readonly bus: Bus;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free one. */
  readonly port?: number;
  /** Who gets in. */
  readonly auth: AuthOptions;
  /** Bounds that differ from DEFAULT_HUB_LIMITS. */
  readonly limits?: Partial<HubLimits>;
  /** Shown in the console. */
  readonly name?: string;
  /**
   * Origins of other sites whose pages may open a WebSocket and ask over HTTP; the hub's own may always. Without tokens, their names may
   * be used for the hub, too.
   */
  readonly origins?: readonly string[];
  /** Where it writes what happens; silent unless given. */
  readonly log?: Logger;
  /** Spans for what clients handle, by OpenTelemetry; needs `@opentelemetry/api`. Default false. */
  readonly tracing?: boolean;
  /** How long close() waits for clients to settle what they hold. Default 5,000. */
  readonly drainMs?: number;
}

/** A hub that runs. The bus is not closed with it. */
export interface Hub {
  /** http://host:port; the WebSocket is at /ws. */
  readonly url: string;
  readonly port: number;
  /** Refuses new work (/readyz answers 503), waits for what is under way, then sends clients elsewhere (1012). */
  close(): Promise<void>;
}

const DEFAULT_DRAIN_MS = 5_000;
/** How often it is looked which connections have waited for too long. */
const CHECK_CONNECTIONS_MS = 5_000;
const IDLE_SWEEP_MS = 20;
/** How often a kind of failure is written into the log. */
const LOG_EVERY_MS = 1_000;
const KEYS_LOG_EVERY_MS = 60_000;
/** How long clients have to say goodbye when the hub goes down. */
const LAST_WORDS_MS = 5_000;

/**
 * Serves a bus over HTTP and WebSocket, with the console at `/`. Resolves when it listens.
 *
 * @example
 * const hub = await startHub({ bus, auth: { tokens: { s3cret: { scopes: ["publish:orders.*"] } } } });
 * console.log(hub.url);
 */
export async function startHub(options: HubOptions): Promise<Hub> {
  checkHubOptions(options);
  const host = options.host ?? "127.0.0.1";
  const auth = await authenticatorOf(options.auth, host, keysAwayLog(options.log ?? SILENT));
  const gateway = new Gateway(options, auth, options.tracing ? await loadTracing() : undefined);
  const { url, port } = await gateway.listen(host, options.port ?? 0);
  return { url, port, close: () => gateway.close() };
}

function keysAwayLog(log: HubContext["log"]): (error: unknown) => void {
  const seldom = new Seldom(KEYS_LOG_EVERY_MS);
  return (err) => {
    const leftOut = seldom.admit("keys", systemClock.steady());
    if (leftOut !== null)
      log.error(
        { err, ...(leftOut > 0 && { leftOut }) },
        "the keys of tokens cannot be fetched: nobody who is not known can be let in",
      );
  };
}

/**
 * A command that runs a hub for a moment needs no metrics. One that stays loads them while its files are those it began with, and watches
 * itself from then on.
 */
const LOAD_METRICS_MS = 2_000;

/** The log of a hub that was given none. */
const SILENT: HubContext["log"] = { error: () => undefined };

class Gateway {
  readonly #context: HubContext;
  readonly #server: Server;
  readonly #publishers: PublishConnections;
  readonly #sockets: WebSocketServer;
  readonly #sessions = new Set<SessionShell>();
  readonly #bySubject = new Map<string, number>();
  readonly #goingDown = new AbortController();
  readonly #drainMs: number;
  readonly #tracing: Tracing | undefined;
  readonly #live: LiveStats;
  readonly #feeders: Feeders;
  readonly #stopObserving: () => void;
  #url = "";
  #cutOff = 0;
  #closing: Promise<void> | null = null;
  #metrics: HubMetrics | undefined;
  #loading: NodeJS.Timeout | undefined;

  constructor(options: HubOptions, auth: Authenticator, tracing: Tracing | undefined) {
    this.#tracing = tracing;
    // Every stream listens for the end.
    setMaxListeners(0, this.#goingDown.signal);
    const limits = { ...DEFAULT_HUB_LIMITS, ...options.limits };
    const { bus, name = "promethean" } = options;
    const connections = (): number => this.#sessions.size;
    const startedMs = bus.clock.now();
    const watch = new Watch(bus);
    this.#live = new LiveStats(bus.clock);
    this.#feeders = new Feeders(bus);
    this.#stopObserving = bus.observe(this.#live);
    this.#context = {
      bus,
      name,
      auth,
      visitors: new Visitors(auth.open, options.origins ?? []),
      limits,
      metrics: () => this.#loadMetrics(watch),
      live: this.#live,
      watch,
      jobs: new Jobs(bus),
      roll: new HubRoll(bus, () => ({ name, url: this.#url, startedMs, connections: connections() })),
      log: options.log ?? SILENT,
      failures: new Seldom(LOG_EVERY_MS),
      startedMs,
      accepting: () => !this.#goingDown.signal.aborted,
      closing: this.#goingDown.signal,
      connections,
    };
    this.#drainMs = options.drainMs ?? DEFAULT_DRAIN_MS;
    const desk = new PublishDesk(this.#context);
    // A stream of lines may go on for hours: body.ts bounds how long a body takes, or is silent.
    const times = {
      headersTimeout: limits.headTimeoutMs,
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(CHECK_CONNECTIONS_MS, limits.headTimeoutMs),
    };
    // The listener looks for a Host itself, and says what is missing.
    const reading = { maxHeaderSize: 16_384, requireHostHeader: false };
    const answer = createHttp(this.#context, desk);
    this.#server = createServer({ ...reading, ...times }, answer);
    // A server may pass over what it does not know (RFC 9110, 10.1.1).
    this.#server.on("checkExpectation", answer);
    refuseUnreadable(this.#server);
    // Their bytes are bounded; none is left out, so that a request can be put together anew.
    this.#server.maxHeadersCount = 0;
    this.#publishers = new PublishConnections(this.#server, this.#context, desk);
    boundConnections(this.#server, { max: limits.maxHttpConnections, webSockets: connections });
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: limits.maxBodyBytes * 2,
      perMessageDeflate: false,
      // By the session, which bounds what waits to go out.
      autoPong: false,
      // Who was cut off may read on for as long again, up to the close frame. The types do not know of it.
      ...{ closeTimeout: limits.slowConsumerMs },
    });
    this.#server.on("upgrade", (request, socket: Socket, head) => this.#upgrade(request, socket, head));
  }

  async listen(host: string, wanted: number): Promise<{ url: string; port: number }> {
    const port = await new Promise<number>((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException): void => {
        this.#stopWatching();
        reject(listenError(error, host, wanted));
      };
      this.#server.once("error", fail);
      this.#server.listen(wanted, host, () => {
        this.#server.off("error", fail).on("error", (error) => this.#tellOf(error));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
    this.#url = `http://${inBrackets(host)}:${port}`;
    this.#context.roll.start();
    // If it cannot be loaded, whoever scrapes is told.
    this.#loading = setTimeout(() => void this.#context.metrics().catch(() => undefined), LOAD_METRICS_MS);
    this.#loading.unref();
    return { url: this.#url, port };
  }

  /** A connection that the system could not take on: too many files are open, or no memory is left. The others go on. */
  #tellOf(error: NodeJS.ErrnoException): void {
    const { failures, log, bus } = this.#context;
    const leftOut = failures.admit(`accept ${error.code}`, bus.clock.steady());
    if (leftOut !== null)
      log.error({ err: error, ...(leftOut > 0 && { leftOut }) }, "a connection was not taken on");
  }

  async #loadMetrics(watch: Watch): Promise<HubMetrics> {
    const { createMetrics } = await import("./metrics/metrics.js");
    const { live, connections } = this.#context;
    this.#metrics ??= createMetrics({ live, connections, cutOff: () => this.#cutOff, watch });
    return this.#metrics;
  }

  #stopWatching(): void {
    clearTimeout(this.#loading);
    this.#stopObserving();
    this.#live.close();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Still listening while it drains, so that /readyz can say so and nobody is refused without a word. */
  async #close(): Promise<void> {
    this.#goingDown.abort();
    for (const session of this.#sessions) session.leave();
    await this.#context.jobs.close();
    await this.#drain();
    for (const session of this.#sessions) session.bye();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // A connection whose last answer goes out while we wait becomes idle only then.
    const sweep = setInterval(() => this.#closeIdle(), IDLE_SWEEP_MS);
    const cancel = this.#context.bus.clock.setTimer(LAST_WORDS_MS, () => {
      for (const socket of this.#sockets.clients) socket.terminate();
      this.#server.closeAllConnections();
      this.#publishers.closeAll();
    });
    await closed;
    clearInterval(sweep);
    cancel();
    await this.#context.roll.close();
    this.#stopWatching();
  }

  #closeIdle(): void {
    this.#server.closeIdleConnections();
    this.#publishers.closeIdle();
  }

  /** What is leased to clients may be settled, up to the deadline; what is not goes back to be delivered again. */
  async #drain(): Promise<void> {
    const enough = new AbortController();
    const drained = Promise.all([...this.#sessions].map((session) => session.drain()));
    await Promise.race([drained, pause(this.#context.bus.clock, this.#drainMs, enough.signal)]);
    enough.abort();
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    if (!offersWebSocket(request)) {
      void this.#passOver(request, socket, head);
      return;
    }
    socket.on("error", () => socket.destroy());
    const [path = ""] = (request.url ?? "").split("?");
    if (path !== "/ws") refuse(socket, noSuchPath(path));
    else if (!this.#context.visitors.mayConnect(request.headers)) refuse(socket, foreignPage());
    else if (!this.#takesOn()) refuseForNow(socket);
    else void this.#admit(request, socket, head);
  }

  #takesOn(): boolean {
    return this.#context.accepting() && this.#sessions.size < this.#context.limits.maxConnections;
  }

  /** It offers another protocol: the hub goes on with the one it has. */
  async #passOver(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    if (await allAnswered(socket)) this.#publishers.pass(socket, [withoutOffer(request), head]);
  }

  /** A token in the upgrade request saves the AUTH frame; a wrong one ends it before it begins. */
  async #admit(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { auth } = this.#context;
    const token = bearer(request.headers.authorization);
    let caller: Caller | null = null;
    if (auth.open || token !== undefined) {
      try {
        caller = await auth.authenticate(token);
      } catch (error) {
        const known = areKeysAway(error) ? error : new HubError("UNAUTHENTICATED", REFUSED);
        refuse(socket, known);
        return;
      }
    }
    // Others came while the token was looked at, and the hub may be going down by now.
    if (!this.#takesOn()) {
      refuseForNow(socket);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (ws) => {
      let subject: string | null = null;
      const session = new SessionShell(ws, {
        bus: this.#context.bus,
        auth,
        limits: this.#context.limits,
        feeders: this.#feeders,
        caller,
        tracing: this.#tracing,
        onIdentified: (identified) => {
          if (identified.subject === subject) return true;
          if (!this.#enter(identified.subject)) return false;
          if (subject !== null) this.#exit(subject);
          subject = identified.subject;
          return true;
        },
        onCutOff: () => {
          this.#cutOff++;
        },
        onEnded: () => {
          this.#sessions.delete(session);
          if (subject !== null) this.#exit(subject);
        },
      });
      this.#sessions.add(session);
    });
  }

  /** False if this subject has as many connections as it may. */
  #enter(subject: string): boolean {
    const count = (this.#bySubject.get(subject) ?? 0) + 1;
    if (count > this.#context.limits.maxConnectionsPerSubject) return false;
    this.#bySubject.set(subject, count);
    return true;
  }

  #exit(subject: string): void {
    const count = (this.#bySubject.get(subject) ?? 0) - 1;
    if (count <= 0) this.#bySubject.delete(subject);
    else this.#bySubject.set(subject, count);
  }
}

function noSuchPath(path: string): HubError {
  return new HubError("NOT_FOUND", `there is no WebSocket at ${path}; it is at /ws`);
}

function foreignPage(): HubError {
  return new HubError("FORBIDDEN", "pages of this origin may not connect; `origins` names those that may");
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): BusError {
  const why =
    error.code === "EADDRINUSE"
      ? `port ${port} on ${host} is taken; choose another one, or 0 for any`
      : `cannot listen on ${inBrackets(host)}:${port} (${error.code ?? error.message})`;
  return new BusError("INVALID_OPTION", why, { cause: error });
}

/** The colons of an IPv6 address are not that before the port. */
function inBrackets(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}
