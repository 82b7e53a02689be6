/** Streams of lines that go on for long: as long as they come, and the token lasts. */
import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { settled } from "../../../test/support/eventually.js";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { ManualClock } from "../../model/manual-clock.js";
import { bodyPieces } from "./body.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function open(o: Parameters<typeof hubFixture>[0] = {}): Promise<HubFixture> {
  const f = await hubFixture(o);
  closers.push(() => f.close());
  return f;
}

const line = (n: number): string => `${JSON.stringify({ topic: "a", payload: n })}\n`;

function stream(url: string, path: string, token: string): ClientRequest {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" };
  return request(url + path, { method: "POST", headers }).on("error", () => undefined);
}

describe("a stream of lines", () => {
  const STARTED = "http.server.request.start";
  /** What servers of this process are asked, as they see it. */
  const asked: { readonly request: IncomingMessage; readonly server: Server }[] = [];
  const note = (message: unknown): void => void asked.push(message as (typeof asked)[number]);
  beforeEach(() => {
    asked.length = 0;
    diagnostics.subscribe(STARTED, note);
  });
  afterEach(() => void diagnostics.unsubscribe(STARTED, note));

  it("has no time by which it must be over, but its head has", async () => {
    const f = await open();
    await f.get("/healthz");
    expect(asked[0]?.server).toMatchObject({ requestTimeout: 0, headersTimeout: 15_000 });
  });

  it.each(["/publish", "/import"])(
    "to %s ends when the token runs out, and says how many are in",
    async (path) => {
      const secret = "0123456789abcdef0123456789abcdef";
      const clock = new ManualClock({ startMs: Date.now() });
      const f = await open({ bus: { clock }, auth: { jwt: { secret } } });
      const token = await new SignJWT({ scopes: ["*:*"], sub: "ada" })
        .setProtectedHeader({ alg: "HS256" })
        .setExpirationTime(Math.floor(Date.now() / 1_000) + 60)
        .sign(new TextEncoder().encode(secret));
      const sending = stream(f.hub.url, path, token);
      closers.unshift(() => sending.destroy());
      for (let n = 0; n < 3; n++) sending.write(line(n));
      const answered = once(sending, "response") as Promise<[IncomingMessage]>;
      // Off the socket, and taken by whoever looks at the lines, which is not before the token was looked at.
      const isTaken = (): boolean => {
        const [{ request: incoming } = {}] = asked;
        if (incoming?.socket.bytesRead !== sending.socket?.bytesWritten) return false;
        return incoming?.readableDidRead === true && incoming.readableLength === 0;
      };
      await expect.poll(isTaken).toBe(true);
      await settled();
      await clock.advance(120_000);
      const [response] = await answered;
      expect(response.statusCode).toBe(401);
      expect(await json(response)).toMatchObject({ code: "UNAUTHENTICATED", published: 3 });
    },
  );

  it("that falls silent is cut off", async () => {
    const ends: string[] = [];
    const read = async (incoming: IncomingMessage): Promise<void> => {
      try {
        for await (const piece of bodyPieces(incoming, 50)) ends.push(piece.toString());
      } catch (error) {
        ends.push((error as Error).message);
      }
    };
    const server = createServer((incoming) => void read(incoming));
    closers.push(() => server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const sending = stream(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "/", "t");
    sending.write("one");
    await new Promise((resolve) => sending.once("close", resolve));
    expect(ends).toEqual(["one", "the body ended early"]);
  });
});
