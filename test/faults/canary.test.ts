/**
 * Secrets never reach what a hub says: not its logs, not its answers, not its metrics, not the warnings of a process. Each
 * secret here is a word that stands nowhere else; then everything that can go wrong around it does.
 */
import { createHmac } from "node:crypto";
import { Writable } from "node:stream";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createBus } from "../../src/bus/create-bus.js";
import { startHub } from "../../src/hub/server.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { mongoStore } from "../../src/stores/mongo/index.js";

const SECRET = "canary-secret-0123456789abcdef01";
const PASSWORD = "canary-password";
const FORGED = "canary-forged-token";
const PAYLOAD = "canary-payload";

describe("secrets", () => {
  let said = "";
  const warned = (warning: Error): void => {
    said += `${warning.message}\n`;
  };
  beforeEach(() => {
    said = "";
    process.on("warning", warned);
  });
  afterEach(() => process.off("warning", warned));

  it("are in no log, no answer and no figure of a hub", async () => {
    const out = new Writable({
      write(chunk, _, done) {
        said += String(chunk);
        done();
      },
    });
    const bus = await createBus({ store: memoryStore(), onTrouble: () => undefined });
    // The hub logs what nobody foresaw.
    bus.use({
      publish: async () => {
        throw new TypeError("nobody foresaw this");
      },
    });
    const log = pino({ level: "trace" }, out);
    const hub = await startHub({ bus, auth: { jwt: { secret: SECRET } }, log });
    const answers: string[] = [];
    const good = token({ sub: "ada", scopes: ["*:*"], exp: Math.floor(Date.now() / 1_000) + 600 });
    const ask = async (path: string, authorization: string, init: RequestInit = {}): Promise<void> => {
      const response = await fetch(hub.url + path, {
        ...init,
        headers: { "content-type": "application/json", authorization, ...init.headers },
      });
      answers.push(await response.text(), JSON.stringify([...response.headers]));
    };
    const body = JSON.stringify({ topic: "orders", payload: { password: PAYLOAD } });
    await ask("/publish", `Bearer ${good}`, { method: "POST", body });
    await ask("/publish", `Bearer ${FORGED}`, { method: "POST", body });
    await ask("/publish", `Bearer ${good.slice(0, -4)}`, { method: "POST", body: `{"topic": "${PAYLOAD}` });
    await ask(`/topics?token=${FORGED}`, "");
    for (const path of ["/metrics", "/openapi.json", "/topics", "/audit"]) await ask(path, `Bearer ${good}`);
    answers.push(await overSocket(hub.url, [{ type: "AUTH", token: FORGED }]));
    answers.push(
      await overSocket(hub.url, [
        { type: "AUTH", token: good },
        { type: "PUBLISH", topic: "orders", payload: { password: PAYLOAD }, corr: 1 },
      ]),
    );
    await hub.close();
    await bus.close();
    const signature = good.split(".")[2] as string;
    for (const secret of [SECRET, FORGED, PAYLOAD, signature]) {
      expect(said, "what was logged").not.toContain(secret);
      expect(answers.join("\n"), "what was answered").not.toContain(secret);
    }
    expect(said).toContain("nobody foresaw this");
  });

  it("of an address are in no error of a store", async () => {
    const url = `mongodb://user:${PASSWORD}@127.0.0.1:1/?serverSelectionTimeoutMS=100`;
    const store = mongoStore({ url, db: "x" });
    const error = (await store.open().catch((thrown: unknown) => thrown)) as Error;
    expect(error.message).toContain("MongoDB");
    expect(`${error.message} ${error.stack} ${store.name} ${said}`).not.toContain(PASSWORD);
    expect(() => mongoStore({ url: `mongo://user:${PASSWORD}@nowhere` })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(PASSWORD) }),
    );
  });
});

function token(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "HS256" })}.${part(claims)}`;
  return `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;
}

/** What comes back over a WebSocket, the reason of its end included. */
function overSocket(url: string, frames: readonly object[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
    let heard = "";
    socket.on("error", reject);
    socket.on("open", () => {
      for (const frame of frames) socket.send(JSON.stringify(frame));
    });
    socket.on("message", (data) => {
      heard += String(data);
      if (heard.split('"type"').length > frames.length) socket.close();
    });
    socket.on("close", (_, reason) => resolve(heard + String(reason)));
  });
}
