/** Whoever asks for much and then reads nothing of it holds up nobody, and does not hold on to it (P13). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { ManualClock } from "../../model/manual-clock.js";
import { memoryStore } from "../../stores/memory/index.js";

const LARGE = 64 * 1_048_576;
const PAYLOAD = "x".repeat(500_000);

let folder: string;
let clock: ManualClock;
let f: HubFixture;
const sockets: Socket[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "promethean-stalled-"));
  clock = new ManualClock();
  const backup = async (path: string): Promise<void> => writeFileSync(path, Buffer.alloc(LARGE, "copy "));
  const store = Object.assign(memoryStore(), { path: join(folder, "bus.db"), backup });
  f = await hubFixture({ bus: { store, clock }, limits: { maxConnectionsPerSubject: 1 } });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await f.close();
  rmSync(folder, { recursive: true });
});

/** Resolves when the answer has begun, of which no more is read. */
async function begin(method: string, path: string): Promise<void> {
  const socket = connect(f.hub.port, "127.0.0.1");
  sockets.push(socket);
  const body = method === "POST" ? "Content-Length: 2\r\n\r\n{}" : "\r\n";
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\n${body}`);
  const head = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
  socket.pause();
  expect(head.toString()).toContain(" 200 ");
}

async function publishMuch(): Promise<void> {
  for (let n = 0; n < 100; n++) await f.bus.publish("much", `${n}${PAYLOAD}`);
}

/** Time passes until it is so. */
async function comesTrue(isSo: () => Promise<boolean>): Promise<void> {
  const look = async (): Promise<boolean> => {
    await clock.advance(16_000);
    return isSo();
  };
  await expect.poll(look, { interval: 50 }).toBe(true);
}

describe("P13: a reader that takes nothing more is cut off", () => {
  it("of a backup, so that another one can be made", async () => {
    await begin("POST", "/backup");
    await comesTrue(async () => {
      const again = await f.post("/backup", {});
      await again.body?.cancel();
      return again.status === 200;
    });
  });

  it("of a stream of events, so that its subject can have another", async () => {
    await publishMuch();
    await begin("GET", "/events?topic=much&from=earliest");
    await comesTrue(async () => {
      const again = await f.get("/events?topic=much");
      await again.body?.cancel();
      return again.status === 200;
    });
  });
});
