/**
 * A hub of this process's own over a store, on loopback, behind a token that nobody else has: commands speak one
 * language, whether the other end is a hub or a file.
 */
import { randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import { createBus } from "../bus/create-bus.js";
import { startHub } from "../hub/server.js";
import type { Backend } from "./backend.js";
import { checkedBus } from "./checked-bus.js";
import { HubApi } from "./hub-api.js";
import { chooseStore } from "./store-choice.js";
import { troublesInWords, warn } from "./troubles.js";

const UNLIMITED_RATE = 1_000_000_000;
const MAX_BODY_BYTES = 64 * 1_048_576;

export async function privateHub(store: string, signal: AbortSignal): Promise<Backend> {
  const bus = await createBus({
    store: await chooseStore(store, { mustExist: true, onWarning: warn }),
    drainMs: 2_000,
    publishTimeoutMs: 10_000,
    onTrouble: troublesInWords(),
  });
  const token = randomBytes(32).toString("base64url");
  try {
    const hub = await startHub({
      bus: await checkedBus(bus),
      auth: { tokens: { [token]: { scopes: ["*:*"], subject: `cli ${userName()}` } } },
      limits: {
        maxBodyBytes: MAX_BODY_BYTES,
        framesPerSecond: UNLIMITED_RATE,
        publishesPerSecondPerTopic: UNLIMITED_RATE,
      },
    });
    const close = async (): Promise<void> => {
      await hub.close();
      await bus.close();
    };
    return new HubApi({ url: hub.url, token, name: bus.store.name, bus, signal, close });
  } catch (error) {
    await bus.close();
    throw error;
  }
}

/** Who is written into the audit. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown";
  }
}
