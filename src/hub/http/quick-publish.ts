/**
 * The way of most publishes, straight from the socket to the bus: POST /publish with a JSON body and no more. Whatever is
 * not exactly that goes the long way, and both answer alike: they share rights, rates, parsing and problems. No promise is
 * made on the way of a single event.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Place, PublishWaiter } from "../../model/event-bus.js";
import type { Caller } from "../auth.js";
import type { HubContext } from "../context.js";
import { PayloadTexts } from "../payload-text.js";
import { HubError } from "../problem.js";
import { bearer, writeProblem } from "./answers.js";
import { type BodyReader, parseText, receiveBody, textOf } from "./body.js";
import { isBinaryCloudEvent } from "./cloud-events.js";
import { type PublishDesk, publishAll, submitOne, topicItem } from "./publish-items.js";

const JSON_TYPE = /^application\/json\s*(;\s*charset=utf-8\s*)?$/i;

/** Never rejects: it answers for its own failures. */
type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

export function quickPublish(hub: HubContext, desk: PublishDesk, others: Listener): RequestListener {
  return (request, response) => {
    if (isQuick(request)) new QuickPublish(hub, desk, request, response).start();
    else void others(request, response);
  };
}

function isQuick(request: IncomingMessage): boolean {
  if (request.method !== "POST" || request.url !== "/publish") return false;
  const { headers } = request;
  const type = headers["content-type"] ?? "";
  return (
    (type === "application/json" || JSON_TYPE.test(type)) &&
    headers["content-encoding"] === undefined &&
    !isBinaryCloudEvent(headers)
  );
}

/** One request, from its first byte to its answer. */
class QuickPublish implements BodyReader, PublishWaiter {
  readonly #hub: HubContext;
  readonly #desk: PublishDesk;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #caller: Caller | undefined;
  #topic = "";

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
    if (!this.#hub.accepting()) {
      this.fail(new HubError("CLOSED", "the hub is going down"));
      return;
    }
    this.#caller = caller;
    receiveBody(this.#request, this.#hub.limits.maxBodyBytes, this);
  }

  received(bytes: Buffer): void {
    try {
      this.#publish(bytes, this.#caller as Caller);
    } catch (error) {
      this.fail(error);
    }
  }

  failed(error: HubError): void {
    this.fail(error);
  }

  #publish(bytes: Buffer, caller: Caller): void {
    const value = parseText(textOf(bytes));
    const { headers } = this.#request;
    const given = {
      idempotencyKey: one(headers["idempotency-key"]),
      traceparent: one(headers.traceparent),
    };
    if (Array.isArray(value)) {
      publishAll(this.#desk, caller, given, value.map(topicItem)).then(
        (placed) => this.#answer(JSON.stringify(placed)),
        (error: unknown) => this.fail(error),
      );
      return;
    }
    const event = topicItem(value);
    this.#topic = event.topic;
    const text = new PayloadTexts(bytes).next(event.item.payload);
    submitOne(this.#desk, caller, given, event, this, text);
  }

  /** As text: there are many of them. The topic's name was checked, an id may be anybody's. */
  done({ id, partition, seq, ts }: Place, duplicate: boolean): void {
    const again = duplicate ? ',"duplicate":true' : "";
    this.#answer(
      `{"id":${JSON.stringify(id)},"topic":"${this.#topic}","partition":${partition},"seq":${seq},"ts":${ts}${again}}`,
    );
  }

  fail(error: unknown): void {
    writeProblem(this.#hub, "/publish", this.#response, error);
  }

  #answer(text: string): void {
    this.#response.writeHead(200, {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(text),
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
    });
    this.#response.end(text);
  }
}

function one(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}
