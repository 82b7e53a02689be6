/** What `startHub` was given, before anything is started: what is wrong is one error that says what to write. */
import { BusError } from "../model/errors.js";
import { checkOptionNames, namesOf } from "../model/known-options.js";
import { DEFAULT_HUB_LIMITS } from "./limits.js";
import type { HubOptions } from "./server.js";

const KNOWN = namesOf<HubOptions>({
  bus: true,
  auth: true,
  host: true,
  port: true,
  limits: true,
  name: true,
  origins: true,
  log: true,
  tracing: true,
  drainMs: true,
});

/** INVALID_OPTION for what is no hub's. */
export function checkHubOptions(options: HubOptions): void {
  const { bus, auth, port = 0, limits = {}, drainMs = 0 } = options ?? {};
  if (typeof bus?.observe !== "function") throw wrong("a hub needs a bus: startHub({ bus, auth })");
  if (typeof auth !== "object" ? auth !== "none" : auth === null || !("tokens" in auth || "jwt" in auth))
    throw wrong(
      'a hub needs auth: { jwt: { secret } }, { tokens: { token: { scopes } } }, or "none" on loopback',
    );
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw wrong("port must be a whole number from 0 to 65,535; 0 is any free one");
  checkOptionNames("a hub", options, KNOWN);
  checkOptionNames("limits", limits, Object.keys(DEFAULT_HUB_LIMITS));
  for (const [name, limit] of Object.entries(limits))
    if (!(typeof limit === "number" && limit > 0)) throw wrong(`limits.${name} must be a number above 0`);
  if (!(typeof drainMs === "number" && drainMs >= 0)) throw wrong("drainMs must be a number of 0 or more");
}

function wrong(message: string): BusError {
  return new BusError("INVALID_OPTION", message);
}
