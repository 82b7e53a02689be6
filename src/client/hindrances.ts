/** Why there is no line to a hub, for those who are told if it goes on so. */
import type { ErrFrame } from "../hub/protocol.js";
import { BusError, describeThrown, type ErrorCode } from "../model/errors.js";

export function notLetIn({ code, msg }: ErrFrame): BusError {
  return new BusError(
    code as ErrorCode,
    `the hub does not let this client in: ${msg}; the client goes on trying`,
  );
}

export function noToken(error: unknown): never {
  const why = `getToken failed: ${describeThrown(error)}; the client goes on trying`;
  throw new BusError("UNAUTHENTICATED", why, { cause: error });
}

export function noSocket(url: string, cause: unknown): BusError {
  const why = `no socket to ${new URL(url).origin} can be made: ${describeThrown(cause)}; the client goes on trying`;
  return new BusError("STORE_UNAVAILABLE", why, { cause });
}
