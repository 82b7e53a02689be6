/** What the system says when it cannot take on a connection: too many files are open, or no memory is left. */
import diagnostics from "node:diagnostics_channel";
import type { Server } from "node:http";
import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, it } from "vitest";
import { hubFixture } from "../../test/support/hub-fixture.js";

const REQUESTS = "http.server.request.start";

it("P15: a connection that could not be taken on ends no hub: it is told of, and the hub goes on, with its figures", async () => {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const hub = await hubFixture({ log: pino(sink) });
  const servers: Server[] = [];
  const note = (message: unknown): void => void servers.push((message as { server: Server }).server);
  diagnostics.subscribe(REQUESTS, note);
  try {
    await hub.get("/topics");
    for (let i = 0; i < 3; i++)
      servers[0]?.emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }));
    await hub.bus.publish("orders", 1);
    const metrics = await (await hub.get("/metrics")).text();
    expect(metrics).toMatch(/published.*topic="orders".* 1\n/);
    expect(lines.filter((line) => line.includes("accept EMFILE"))).toHaveLength(1);
  } finally {
    diagnostics.unsubscribe(REQUESTS, note);
    await hub.close();
  }
});
