/**
 * What a browser has to be told before it lets a page of another site read an answer, or ask anything but the simplest (CORS): pages
 * of the sites that the hub was told of may. No cookies are involved: such a page has a token of its own.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Visitors } from "../visitors.js";

/** How long a browser need not ask again. */
const MAX_AGE_S = 600;

/** True if all that it asked was whether it may ask: then it is answered. */
export function admitGuest(visitors: Visitors, request: IncomingMessage, response: ServerResponse): boolean {
  const { origin } = request.headers;
  if (origin === undefined || !visitors.isGuest(origin)) return false;
  response.setHeader("Access-Control-Allow-Origin", origin);
  response.setHeader("Access-Control-Expose-Headers", "ETag, Retry-After");
  response.setHeader("Vary", "Origin");
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined)
    return false;
  response.writeHead(204, {
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": request.headers["access-control-request-headers"] ?? "",
    "Access-Control-Max-Age": String(MAX_AGE_S),
  });
  response.end();
  return true;
}
