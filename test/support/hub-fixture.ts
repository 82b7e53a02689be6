/** A hub on a memory store, over real sockets, for one test at a time. */
import type { Logger } from "pino";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import type { BusOptions } from "../../src/bus/options.js";
import type { AuthOptions } from "../../src/hub/auth/auth.js";
import type { HubLimits } from "../../src/hub/limits.js";
import { type Hub, startHub } from "../../src/hub/server.js";
import { memoryStore } from "../../src/stores/memory/index.js";

export interface HubFixture {
  readonly hub: Hub;
  readonly bus: Bus;
  /** As `fetch`, with a path and the token "all", which may do everything. */
  get(path: string, init?: RequestInit): Promise<Response>;
  /** JSON in, response out. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

export async function hubFixture(
  o: {
    bus?: Partial<BusOptions>;
    limits?: Partial<HubLimits>;
    tokens?: Record<string, string[]>;
    /** In place of tokens. */
    auth?: AuthOptions;
    log?: Logger;
  } = {},
): Promise<HubFixture> {
  const bus = await createBus({ store: memoryStore(), ...o.bus });
  const tokens = Object.fromEntries(
    Object.entries({ all: ["*:*"], ...o.tokens }).map(([token, scopes]) => [token, { scopes }]),
  );
  const { limits, log, auth = { tokens } } = o;
  const hub = await startHub({
    bus,
    auth,
    ...(limits && { limits }),
    ...(log && { log }),
  });
  const get = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(hub.url + path, { ...init, headers: { authorization: "Bearer all", ...init.headers } });
  return {
    hub,
    bus,
    get,
    post: (path, body, init = {}) =>
      get(path, {
        method: "POST",
        body: JSON.stringify(body),
        ...init,
        headers: { "content-type": "application/json", ...init.headers },
      }),
    close: async () => {
      await hub.close();
      await bus.close();
    },
  };
}

export const as = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });
