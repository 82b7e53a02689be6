/** `promethean serve` with the OpenTelemetry SDK that its process was started with: traceparent in, span out. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ensureBuilt, type Running, start } from "../support/cli.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const TOKEN = "0123456789abcdef";

/** As small as an SDK can be: takes the trace from `traceparent`, writes a line for each span that has ended. */
const telemetry = (api: string, file: string): string => `
import { appendFileSync } from "node:fs";
import { propagation, trace } from ${JSON.stringify(api)};
propagation.setGlobalPropagator({
  inject: () => {},
  extract: (into, carrier, getter) => {
    const [, traceId, spanId] = String(getter.get(carrier, "traceparent") ?? "").split("-");
    return trace.setSpanContext(into, { traceId, spanId, traceFlags: 1, isRemote: true });
  },
  fields: () => ["traceparent"],
});
trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: (name, options, parent) => {
  const from = trace.getSpanContext(parent);
  const span = trace.wrapSpanContext({ traceId: from.traceId, spanId: "00000000000000ff", traceFlags: 1 });
  const told = { name, traceId: from.traceId, parentId: from.spanId, attributes: options.attributes };
  return Object.assign(span, { end: () => appendFileSync(${JSON.stringify(file)}, JSON.stringify(told) + "\\n") });
} }) });
`;

describe("promethean serve with tracing", () => {
  let folder: string;
  let hub: Running;
  beforeAll(ensureBuilt);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "promethean-traces-"));
  });
  afterEach(async () => {
    hub.child.kill("SIGTERM");
    await hub.ended;
    rmSync(folder, { recursive: true, force: true });
  });

  it("ends a span in the trace of the publisher when the client acks", async () => {
    const [sdk, spans] = [join(folder, "telemetry.mjs"), join(folder, "spans")];
    writeFileSync(sdk, telemetry(import.meta.resolve("@opentelemetry/api"), spans));
    const auth = { tokens: [{ token: TOKEN, scopes: ["*:*"] }] };
    const settings = { store: "bus.db", port: 0, tracing: true, auth };
    writeFileSync(join(folder, "hub.json"), JSON.stringify(settings));
    const env = { NODE_OPTIONS: `--import ${sdk}` };
    hub = start(["serve", "--config", "hub.json"], { cwd: folder, env });
    const listening = (): string | undefined => /"url":"([^"]+)"/.exec(hub.err)?.[1];
    await expect.poll(listening).toBeDefined();
    const url = listening() as string;
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    socket.on("message", (data) => {
      const frame = JSON.parse(data.toString()) as { type: string; event: { id: string } };
      if (frame.type === "EVENT")
        socket.send(JSON.stringify({ type: "ACK", topic: "orders", group: "g", id: frame.event.id }));
    });
    socket.send(
      JSON.stringify({ type: "SUBSCRIBE", topic: "orders", group: "g", opts: { from: "earliest" } }),
    );
    const published = await fetch(`${url}/publish`, {
      method: "POST",
      headers: { ...headers, traceparent: `00-${TRACE}-b7ad6b7169203331-01` },
      body: JSON.stringify({ topic: "orders", payload: 1, id: "one" }),
    });
    expect(published.status).toBe(200);
    await expect.poll(() => lines(spans)).toHaveLength(1);
    expect(lines(spans)[0]).toMatchObject({
      name: "orders process",
      traceId: TRACE,
      parentId: "b7ad6b7169203331",
      attributes: {
        "messaging.message.id": "one",
        "messaging.consumer.group.name": "g",
        "promethean.seq": 1,
      },
    });
    socket.terminate();
  });
});

function lines(file: string): unknown[] {
  try {
    return readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  } catch {
    // Not there yet, or half a line.
    return [];
  }
}
