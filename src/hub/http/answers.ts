/** Problems as answers, and who calls: the same for every way into the hub. */
import type { ServerResponse } from "node:http";
import type { HubContext } from "../context.js";
import { problemOf, retryAfterSeconds } from "../problem.js";

export interface ProblemAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(.+)$/i.exec(authorization ?? "")?.[1];
}

/** What a client is told of an error (RFC 9457); one that nobody foresaw goes into the log. */
export function problemAnswer(hub: HubContext, path: string, error: unknown): ProblemAnswer {
  const answer = answerOf(error);
  if (answer.status === 500) logFailure(hub, path, error);
  return answer;
}

/** The same, of a failure that was foreseen. */
export function answerOf(error: unknown): ProblemAnswer {
  const problem = problemOf(error);
  const seconds = retryAfterSeconds(error);
  return {
    status: problem.status,
    text: JSON.stringify(problem),
    headers: {
      "Content-Type": "application/problem+json",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
      ...(problem.status === 401 && { "WWW-Authenticate": "Bearer" }),
      ...(seconds !== undefined && { "Retry-After": String(seconds) }),
    },
  };
}

/** One client that asks again and again must not fill the log, nor hold up the others while it is written. */
function logFailure(hub: HubContext, path: string, error: unknown): void {
  const kind = error instanceof Error ? error.name : typeof error;
  const leftOut = hub.failures.admit(kind, hub.bus.clock.steady());
  if (leftOut !== null)
    hub.log.error({ err: error, path, ...(leftOut > 0 && { leftOut }) }, "request failed");
}

export function writeProblem(hub: HubContext, path: string, response: ServerResponse, error: unknown): void {
  const { status, headers, text } = problemAnswer(hub, path, error);
  response.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}
