/**
 * The way of most publishes, straight from the socket to the bus: POST /publish with a JSON body and no more. Whatever is
 * not exactly that goes the long way, and both answer alike: they share rights, rates, parsing and problems.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { bearer, writeProblem } from "./answers.js";
import { readBody, textOf } from "./body.js";
import { isBinaryCloudEvent } from "./cloud-events.js";
import { type PublishDesk, publishText } from "./publish-items.js";

const JSON_TYPE = /^application\/json\s*(;\s*charset=utf-8\s*)?$/i;

/** Never rejects: it answers for its own failures. */
type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

export function quickPublish(hub: HubContext, desk: PublishDesk, others: Listener): RequestListener {
  return (request, response) => {
    if (isQuick(request)) void answer(hub, desk, request, response);
    else void others(request, response);
  };
}

function isQuick({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === "POST" &&
    url === "/publish" &&
    JSON_TYPE.test(headers["content-type"] ?? "") &&
    headers["content-encoding"] === undefined &&
    !isBinaryCloudEvent(headers)
  );
}

async function answer(
  hub: HubContext,
  desk: PublishDesk,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const reading = readBody(request, hub.limits.maxBodyBytes);
    // Both fail on their own account; the token's fault is the one that is told.
    reading.catch(() => undefined);
    const caller = await hub.auth.authenticate(bearer(request.headers.authorization));
    if (!hub.accepting()) throw new HubError("CLOSED", "the hub is going down");
    const headers = {
      idempotencyKey: one(request.headers["idempotency-key"]),
      traceparent: one(request.headers.traceparent),
    };
    const placed = await publishText(desk, caller, headers, textOf(await reading));
    const text = JSON.stringify(placed);
    response.writeHead(200, {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(text),
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
    });
    response.end(text);
  } catch (error) {
    writeProblem(hub, "/publish", response, error);
  }
}

function one(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}
