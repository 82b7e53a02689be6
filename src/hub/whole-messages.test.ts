/** Messages that come in one piece are taken past the stream of `ws`: whatever comes, the same is heard as through it. */
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { nextTurn } from "../model/next-turn.js";
import { onMessage } from "./message-bytes.js";

const MAX_PAYLOAD = 1_000;
const NO_KEY = [0, 0, 0, 0];

interface Frame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly key: readonly number[] | null;
  readonly body: Buffer;
}

function bytesOf({ opcode, isLast, key, body }: Frame): Buffer {
  const size = body.length;
  const length = size < 126 ? [size] : [126, size >> 8, size & 255];
  const head = [(isLast ? 0x80 : 0) | opcode, (key === null ? 0 : 0x80) | (length[0] as number)];
  const masked = key === null ? body : body.map((byte, i) => byte ^ (key[i % 4] as number));
  return Buffer.concat([Buffer.from([...head, ...length.slice(1), ...(key ?? [])]), masked]);
}

type Listen = (socket: WebSocket, take: (data: Buffer, isBinary: boolean) => void) => void;
const byWs: Listen = (socket, take) => socket.on("message", take);

/** Whether the stream of `ws` had nothing to do with a chunk. */
let taken = 0;

/** What one end of a line hears, and how its messages end. */
async function heard(isServer: boolean, chunks: readonly Buffer[], listen: Listen): Promise<unknown[]> {
  const line = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  // Without an address it is a server's.
  const socket = new (WebSocket as unknown as new (to: null, p: undefined, o: object) => WebSocket)(
    null,
    undefined,
    {},
  );
  const insides = socket as unknown as {
    _isServer: boolean;
    _receiver: { write(chunk: Buffer): boolean };
    setSocket(line: Duplex, head: Buffer, options: object): void;
  };
  insides._isServer = isServer;
  insides.setSocket(line, Buffer.alloc(0), { maxPayload: MAX_PAYLOAD, allowSynchronousEvents: true });
  const said: unknown[] = [];
  socket.on("error", (error) => said.push((error as NodeJS.ErrnoException).code));
  socket.on("ping", (data) => said.push(["ping", data.toString("hex")]));
  const { write } = insides._receiver;
  let passed = 0;
  insides._receiver.write = (chunk) => {
    passed++;
    return write.call(insides._receiver, chunk);
  };
  listen(socket, (data, isBinary) => said.push([data.toString("hex"), isBinary]));
  for (const chunk of chunks) {
    passed = 0;
    line.push(chunk);
    await nextTurn();
    if (passed === 0 && socket.readyState === socket.OPEN) taken++;
  }
  said.push(socket.readyState === socket.OPEN);
  socket.terminate();
  return said;
}

const body = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: "binary", maxLength: 400 }).map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 1_200 }).map((bytes) => Buffer.from(bytes)) },
);
const frame = (isServer: boolean): fc.Arbitrary<Frame> =>
  fc.record({
    opcode: fc.oneof({ weight: 12, arbitrary: fc.constant(1) }, fc.constantFrom(0, 2, 8, 9, 3)),
    isLast: fc.oneof({ weight: 8, arbitrary: fc.constant(true) }, fc.constant(false)),
    key: isServer
      ? fc.oneof(
          { weight: 6, arbitrary: fc.constant(NO_KEY) },
          fc.constant(null),
          fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)),
        )
      : fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, fc.constant(NO_KEY)),
    body,
  });

/** Frames in chunks: nearly always one in each, or else cut, or several together. */
const line = (isServer: boolean): fc.Arbitrary<Buffer[]> =>
  fc
    .array(fc.tuple(frame(isServer), fc.oneof({ weight: 6, arbitrary: fc.constant(-1) }, fc.nat(450))), {
      minLength: 1,
      maxLength: 8,
    })
    .map((frames) => {
      const chunks: Buffer[] = [];
      let open: Buffer = Buffer.alloc(0);
      for (const [one, cut] of frames) {
        const bytes = Buffer.concat([open, bytesOf(one)]);
        const end = cut < 0 ? bytes.length : Math.min(cut, bytes.length);
        if (end > 0) chunks.push(bytes.subarray(0, end));
        open = bytes.subarray(end);
      }
      return open.length > 0 ? [...chunks, open] : chunks;
    });

describe("messages off a socket", () => {
  it.each([
    ["a hub", true],
    ["a client", false],
  ])("P1: are the same for %s, in whatever pieces they come", async (_, isServer) => {
    taken = 0;
    await fc.assert(
      fc.asyncProperty(line(isServer), async (chunks) => {
        const copies = chunks.map((chunk) => Buffer.from(chunk));
        expect(await heard(isServer, copies, onMessage)).toEqual(await heard(isServer, chunks, byWs));
      }),
      { numRuns: 500 },
    );
    expect(taken).toBeGreaterThan(300);
  });

  it("of one whose first byte came before", async () => {
    const whole = bytesOf({ opcode: 1, isLast: true, key: null, body: Buffer.from("x") });
    const chunks = (): Buffer[] => [whole.subarray(0, 1), Buffer.from(whole)];
    expect(await heard(false, chunks(), onMessage)).toEqual(await heard(false, chunks(), byWs));
  });

  it("of the longest that is taken, and of one byte more", async () => {
    for (const size of [MAX_PAYLOAD, MAX_PAYLOAD + 1]) {
      const chunk = bytesOf({ opcode: 1, isLast: true, key: null, body: Buffer.alloc(size, 0x61) });
      const chunks = (): Buffer[] => [Buffer.from(chunk)];
      expect(await heard(false, chunks(), onMessage)).toEqual(await heard(false, chunks(), byWs));
    }
  });
});
