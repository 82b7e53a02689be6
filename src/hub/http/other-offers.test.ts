import { afterEach, beforeEach, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { RawConnection, requestBytes } from "../../../test/support/raw-http.js";

/** As Java's client and `curl --http2` send them with every request. */
const OFFER = [
  ["Connection", "Upgrade, HTTP2-Settings"],
  ["Upgrade", "h2c"],
  ["HTTP2-Settings", "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA"],
] as const;
const HEADERS = [["Authorization", "Bearer all"], ["Content-Type", "application/json"], ...OFFER] as const;
const publish = (n: number): Buffer =>
  requestBytes("/publish", HEADERS, JSON.stringify({ topic: "orders", payload: n }));

let f: HubFixture;
let connection: RawConnection;
beforeEach(async () => {
  f = await hubFixture();
  connection = await RawConnection.to(f.hub.url);
});
afterEach(async () => {
  connection.destroy();
  await f.close();
});

it("requests that offer HTTP/2 as well are answered as any others, one after the other, and leave nothing behind", async () => {
  const warnings: string[] = [];
  const warn = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", warn);
  for (let n = 1; n <= 30; n++) {
    await connection.write(publish(n));
    expect(await connection.next()).toMatchObject({ status: 200 });
    await connection.write(requestBytes("/topics", HEADERS, "", "GET"));
    expect(await connection.next()).toMatchObject({ status: 200 });
  }
  process.off("warning", warn);
  expect(warnings).toEqual([]);
});

it("they may come in pieces, together, and before the answers", async () => {
  const bytes = publish(1);
  await connection.write(bytes.subarray(0, -5));
  await connection.write(Buffer.concat([bytes.subarray(-5), publish(2), publish(3)]));
  for (const seq of [1, 2, 3]) {
    const answer = await connection.next();
    expect(JSON.parse(answer?.body ?? "{}")).toMatchObject({ seq });
  }
});

it("what is offered changes nothing about who may ask", async () => {
  await connection.write(requestBytes("/topics", OFFER, "", "GET"));
  expect(await connection.next()).toMatchObject({ status: 401 });
});
