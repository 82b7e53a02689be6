/**
 * Publishes on a connection that does other things too: POST /publish with a JSON body and no more goes past the routes. Whatever
 * is not exactly that goes the long way, and both answer alike: they share rights, rates, parsing and problems.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Caller } from "../auth/auth.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { bearer, writeProblem } from "./answers.js";
import { type BodyReader, receiveBody } from "./body.js";
import { isBinaryCloudEvent } from "./cloud-events.js";
import { admitGuest } from "./guest-pages.js";
import { type PublishAsker, publishBody } from "./publish-body.js";
import { isPlainJson } from "./publish-head.js";
import type { PublishDesk } from "./publish-items.js";

/** Never rejects: it answers for its own failures. */
type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

export function quickPublish(hub: HubContext, desk: PublishDesk, others: Listener): RequestListener {
  return (request, response) => {
    if (request.headers.host === undefined && request.httpVersion === "1.1")
      writeProblem(hub, request.url ?? "", response, new HubError("BAD_REQUEST", "a request names its Host"));
    else if (!hub.visitors.mayAsk(request.headers)) writeProblem(hub, request.url ?? "", response, foreign());
    else if (admitGuest(hub.visitors, request, response)) return;
    else if (isQuick(request)) new QuickPublish(hub, desk, request, response).start();
    else void others(request, response);
  };
}

function foreign(): HubError {
  return new HubError(
    "FORBIDDEN",
    "a hub without tokens answers to localhost, and to no page of another site; `origins` names those that may",
  );
}

function isQuick(request: IncomingMessage): boolean {
  if (request.method !== "POST" || request.url !== "/publish") return false;
  const { headers } = request;
  return (
    isPlainJson(headers["content-type"] ?? "") &&
    headers["content-encoding"] === undefined &&
    !isBinaryCloudEvent(headers)
  );
}

/** One request, from its first byte to its answer. */
class QuickPublish implements BodyReader, PublishAsker {
  readonly #hub: HubContext;
  readonly #desk: PublishDesk;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #caller: Caller | undefined;

  constructor(hub: HubContext, desk: PublishDesk, request: IncomingMessage, response: ServerResponse) {
    this.#hub = hub;
    this.#desk = desk;
    this.#request = request;
    this.#response = response;
  }

  start(): void {
    const { auth } = this.#hub;
    const token = bearer(this.#request.headers.authorization);
    const caller = auth.known(token);
    if (caller !== undefined) this.#admit(caller);
    else
      auth.authenticate(token).then(
        (found) => this.#admit(found),
        (error: unknown) => this.fail(error),
      );
  }

  #admit(caller: Caller): void {
    this.#caller = caller;
    receiveBody(this.#request, this.#hub.limits.maxBodyBytes, this);
  }

  received(bytes: Buffer): void {
    const { headers } = this.#request;
    const given = {
      idempotencyKey: one(headers["idempotency-key"]),
      traceparent: one(headers.traceparent),
    };
    publishBody(this.#hub, this.#desk, this.#caller as Caller, given, bytes, this);
  }

  failed(error: HubError): void {
    this.fail(error);
  }

  published(text: string): void {
    this.#response.writeHead(200, {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(text),
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
    });
    this.#response.end(text);
  }

  fail(error: unknown): void {
    writeProblem(this.#hub, "/publish", this.#response, error);
  }
}

function one(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}
