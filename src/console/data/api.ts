/**
 * Calls of the hub's interface: with the token, and with problems as errors. What a call answers is its caller's word. A token that
 * the hub does not know any more is let go, whichever call found out.
 */
import { dropToken, token } from "./credentials.js";
import { noteHubDate } from "./hub-clock.js";
import { hubPath } from "./hub-path.js";
import { Problem, problemFrom, problemOf } from "./problem.js";

export interface CallOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** GET without a body, POST with one. Throws a Problem. */
export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  return JSON.parse(await callText(path, options)) as T;
}

/** As it came. */
export async function callText(path: string, options: CallOptions = {}): Promise<string> {
  const response = await send(path, options);
  return await response.text().catch(() => {
    throw new Problem(0, "OFFLINE", "the answer broke off");
  });
}

/** The response itself, once it is known to be a good one. */
async function send(path: string, { body, signal, headers }: CallOptions = {}): Promise<Response> {
  const bearer = token.peek();
  let response: Response;
  try {
    response = await fetch(hubPath + path, {
      method: body === undefined ? "GET" : "POST",
      cache: "no-store",
      headers: {
        ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw problemFrom(error);
  }
  noteHubDate(response.headers.get("date"));
  if (response.ok) return response;
  if (response.status === 401 && bearer !== null && bearer === token.peek()) dropToken();
  throw await problemOf(response);
}

/** A stream of server-sent events. */
export function openStream(path: string, { headers, ...rest }: CallOptions): Promise<Response> {
  return send(path, { ...rest, headers: { accept: "text/event-stream", ...headers } });
}

/** A path with a query; members that are undefined, null or "" are left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** One segment of a path. */
export const seg = encodeURIComponent;
