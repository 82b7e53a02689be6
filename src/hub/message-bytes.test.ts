import { once } from "node:events";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { SocketPair } from "../../test/support/socket-pair.js";
import { Message, type Part, sendFrames, sendMessage } from "./message-bytes.js";

let pair: SocketPair;
let received: string[] = [];
let onReceived: () => void = () => undefined;

/** A part of a message that is these bytes. */
const copied = (bytes: Buffer): Part => ({
  mostBytes: bytes.length,
  writeTo: (buffer, from) => from + bytes.copy(buffer, from),
});

beforeAll(async () => {
  pair = await SocketPair.open((text) => {
    received.push(text);
    onReceived();
  });
});

afterAll(() => pair.close());

/** Sends them all at once, and resolves with what the other side got, once as many told that they are sent. */
async function sent(messages: readonly (readonly string[])[]): Promise<string[]> {
  received = [];
  const all = new Promise<void>((resolve) => {
    onReceived = () => received.length === messages.length && resolve();
  });
  const told = messages.map(
    (frames) =>
      new Promise<void>((whenSent) => sendFrames(pair.socket, frames, frames.join("").length, { whenSent })),
  );
  await Promise.all([all, ...told]);
  return received;
}

const textOf = (frames: readonly string[]): string => `[${frames.join(",")}]`;

describe("frames as the bytes of a message", () => {
  it.each([
    ["one", ["{}"]],
    ["letters of every width", ['"a"', '"ü"', '"€"', '"😀"']],
    ["only the widest letters, as many as fit", ["€".repeat(98_302)]],
    ["one letter more than fits", ["€".repeat(98_303)]],
    ["a long frame behind a short one", ["1", `"${"x".repeat(200_000)}"`]],
  ])("arrive as they are: %s", async (_, frames) => {
    expect(await sent([frames])).toEqual([textOf(frames)]);
  });

  it("P1: are not overwritten by later ones while they are on their way", async () => {
    const frame = fc.tuple(fc.string({ unit: "binary" }), fc.nat({ max: 3_000 }));
    const message = fc.array(frame, { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 30 }), async (drawn) => {
        const messages = drawn.map((frames) =>
          frames.map(([text, times]) => JSON.stringify(text.slice(0, 20).repeat(1 + (times % 200)))),
        );
        expect(await sent(messages)).toEqual(messages.map(textOf));
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["a frame of one piece", [["{}"]], "{}"],
    ["a frame of texts and bytes", [['{"a":', Buffer.from('"ä"'), "}"]], '{"a":"ä"}'],
    ["several frames", [["1"], ['"', Buffer.from("€"), '"'], ["[", "]"]], '[1,"€",[]]'],
    ["bytes as many as fit, and more", [["1"], [Buffer.alloc(300_000, "7")]], `[1,${"7".repeat(300_000)}]`],
    [
      "letters as many as fit, and more",
      [["1"], ['"', "€".repeat(98_304), '"']],
      `[1,"${"€".repeat(98_304)}"]`,
    ],
  ])("may come in pieces: %s", async (_, frames, text) => {
    const message = new Message();
    for (const [first = "", ...others] of frames as (string | Buffer)[][]) {
      if (typeof first === "string") message.begin(first);
      else {
        message.begin("");
        message.add(copied(first));
      }
      for (const piece of others) message.add(typeof piece === "string" ? piece : copied(piece));
    }
    received = [];
    const arrived = new Promise<void>((resolve) => {
      onReceived = resolve;
    });
    await Promise.all([arrived, new Promise<void>((resolve) => sendMessage(pair.socket, message, resolve))]);
    expect(received).toEqual([text]);
  });

  it.each([0, 1, 120, 121, 122, 123, 124, 125, 126, 127, 65_530, 65_531, 65_532, 65_533, 65_534, 200_000])(
    "arrive from either end, without a key and with one: %i letters",
    async (count) => {
      const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
      const accepted = once(server, "connection") as Promise<[WebSocket]>;
      await once(server, "listening");
      const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const [hub] = await accepted;
      const frames = ["1", "x".repeat(count)];
      for (const [from, to, keyless] of [
        [hub, client, false],
        [client, hub, true],
        [client, hub, false],
      ] as const) {
        const arrived = once(to, "message") as Promise<[Buffer, boolean]>;
        if (client.readyState !== WebSocket.OPEN) await once(client, "open");
        await new Promise<void>((whenSent) => sendFrames(from, frames, count + 1, { keyless, whenSent }));
        const [bytes, isBinary] = await arrived;
        expect([bytes.toString(), isBinary]).toEqual([textOf(frames), false]);
      }
      client.terminate();
      server.close();
    },
  );

  it("tells that it is done with them also if the line is gone", async () => {
    const gone = await pair.another();
    gone.terminate();
    await new Promise<void>((whenSent) => sendFrames(gone, ["1", "2"], 2, { whenSent }));
  });
});
