/** A connection that only publishes is read by the hub itself; it must be like any other in all that a client can see. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { type RawAnswer, RawConnection, requestBytes } from "../../../test/support/raw-http.js";

const HEADERS = [
  ["Authorization", "Bearer all"],
  ["Content-Type", "application/json"],
] as const;
const publish = (payload: unknown): Buffer =>
  requestBytes("/publish", HEADERS, JSON.stringify({ topic: "orders", payload }));
const HEALTH = requestBytes("/healthz", [], "", "GET");

describe("a connection that publishes", () => {
  let f: HubFixture;
  let connections: RawConnection[];
  beforeEach(async () => {
    f = await hubFixture({ limits: { maxBodyBytes: 200_000 } });
    connections = [];
  });
  afterEach(async () => {
    for (const connection of connections) connection.destroy();
    await f.close();
  });

  const dial = async (): Promise<RawConnection> => {
    const connection = await RawConnection.to(f.hub.url);
    connections.push(connection);
    return connection;
  };
  const seqOf = (answer: RawAnswer | null): unknown => JSON.parse(answer?.body ?? "{}").seq;
  const kept = async (): Promise<unknown[]> => {
    const payloads: unknown[] = [];
    for await (const { payload } of f.bus.read("orders")) payloads.push(payload);
    return payloads;
  };

  it("may go on with anything else, and come back to publishing", async () => {
    const connection = await dial();
    for (const seq of [1, 2]) {
      await connection.write(publish(seq));
      expect(seqOf(await connection.next())).toBe(seq);
    }
    await connection.write(HEALTH);
    expect(await connection.next()).toMatchObject({ status: 200 });
    await connection.write(publish(3));
    expect(seqOf(await connection.next())).toBe(3);
    expect(await kept()).toEqual([1, 2, 3]);
  });

  it("may send requests before the answers: they come in order", async () => {
    const connection = await dial();
    await connection.write(Buffer.concat([publish(1), publish(2), HEALTH, publish(3)]));
    await connection.write(publish(4));
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await connection.next());
    expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers.map(seqOf)).toEqual([1, 2, undefined, 3, 4]);
  });

  it("may become a WebSocket", async () => {
    const connection = await dial();
    await connection.write(publish(1));
    expect(seqOf(await connection.next())).toBe(1);
    const upgrade = [
      ["Authorization", "Bearer all"],
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
      ["Sec-WebSocket-Version", "13"],
      ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
    ] as const;
    await connection.write(requestBytes("/ws", upgrade, "", "GET"));
    expect(await connection.next()).toMatchObject({ status: 101 });
  });

  it("may send a body of any size in pieces, also before it is known", async () => {
    const connection = await dial();
    const large = "ü".repeat(60_000);
    for (let round = 0; round < 2; round++) {
      const bytes = publish(large);
      for (let at = 0; at < bytes.length; at += 10_007)
        await connection.write(bytes.subarray(at, at + 10_007));
      expect(await connection.next()).toMatchObject({ status: 200 });
    }
    expect((await kept()).every((payload) => payload === large)).toBe(true);
  });

  it("is answered when it has ended its own side", async () => {
    const connection = await dial();
    await connection.write(publish(1));
    connection.end();
    expect(seqOf(await connection.next())).toBe(1);
    await connection.ended();
  });

  it("publishes nothing of a body that ends early", async () => {
    const known = await dial();
    await known.write(publish(1));
    await known.next();
    await known.write(publish(2).subarray(0, -1));
    known.end();
    expect(await known.next()).toBeNull();
    expect(await kept()).toEqual([1]);
  });

  it("is ended when the hub goes down", async () => {
    const [idle, unused] = [await dial(), await dial()];
    await idle.write(publish(1));
    await idle.next();
    await f.hub.close();
    await Promise.all([idle.ended(), unused.ended()]);
  });

  describe("with heads of all kinds", () => {
    const names = fc.constantFrom(
      ...["Authorization", "authorization", "Content-Type", "Content-Length", "Host", "Connection", "Expect"],
      ...["Transfer-Encoding", "Content-Encoding", "Idempotency-Key", "traceparent", "ce-specversion", "TE"],
      ...["Trailer", "Accept", "X-Other", "Content-Length ", "Bad Name", "", "Ü"],
    );
    const values = fc.constantFrom(
      ...["Bearer all", "Bearer wrong", "bearer all", "application/json", "application/json;charset=utf-8"],
      // A length that is too short makes garbage of the rest; which answer then comes first is a matter of time.
      ...[
        "text/plain",
        "30",
        "0030",
        "+30",
        "30, 30",
        "9999999999",
        "close",
        "keep-alive",
        "Keep-Alive",
        "upgrade",
      ],
      ...[
        "chunked",
        "identity",
        "gzip",
        "100-continue",
        "a",
        "",
        " a\t",
        "1.0",
        "\xe9",
        "a\x00b",
        "a\nb",
        "a\rb",
      ],
    );
    const heads = fc.record({
      path: fc.constantFrom(
        "/publish",
        "/publish",
        "/publish",
        "/publish?",
        "/PUBLISH",
        "/publish#a",
        " /publish",
      ),
      method: fc.constantFrom("POST", "POST", "POST", "post", "PUT"),
      own: fc.subarray([...HEADERS]),
      more: fc.array(fc.tuple(names, values), { maxLength: 3 }),
      cut: fc.nat(400),
    });
    /** Of 30 bytes. */
    const body = '{"topic":"orders","payload":1}';

    /** What a client gets for it, and whether it may go on. */
    const told = async (connection: RawConnection, bytes: Buffer, cut: number): Promise<unknown> => {
      await connection.write(bytes.subarray(0, cut));
      await connection.write(bytes.subarray(cut));
      const first = await connection.next();
      await connection.write(HEALTH);
      connection.end();
      const answers = [];
      for (let answer = first; answer !== null; answer = await connection.next()) answers.push(seen(answer));
      connection.destroy();
      return answers;
    };
    const seen = ({ status, headers, body: text }: RawAnswer): unknown => {
      const { date: _, "content-length": __, ...others } = headers;
      const alike = text.replaceAll(/"(id|seq|ts)":("[^"]*"|\d+)/g, '"$1":0');
      // The second one under an id is a duplicate.
      return { status, others, text: alike.replace(',"duplicate":true', "") };
    };

    it("is told the same as one that node:http reads from the beginning", async () => {
      await fc.assert(
        fc.asyncProperty(heads, async ({ path, method, own, more, cut }) => {
          const bytes = requestBytes(path, [...own, ...more], body, method);
          const other = await dial();
          await other.write(HEALTH);
          await other.next();
          expect(await told(await dial(), bytes, cut)).toEqual(await told(other, bytes, cut));
        }),
        { numRuns: 150 },
      );
    });
  });
});
