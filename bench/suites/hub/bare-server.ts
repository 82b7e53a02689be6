/**
 * What a hub is measured against: the same frames and bodies over the same libraries, parsed and answered, and nothing
 * else. /echo answers frames as a hub answers publishes; /sends pours events out as a hub pours them, and reads the acks.
 */
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { eventText } from "./load.js";

interface Frame {
  readonly type: string;
  readonly corr?: number;
  readonly topic: string;
  readonly id?: string;
}

/** As the hub: frames of one write make one message of at most this many characters. */
const MESSAGE_CHARS = 65_536;

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(parts).toString()) as Frame | Frame[];
    const answer = Array.isArray(body) ? body.map(place) : place(body);
    const text = JSON.stringify(answer);
    response.writeHead(200, {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(text),
    });
    response.end(text);
  });
});
let seq = 0;

function place({ topic, id = "0190f0f0-0000-7000-8000-000000000000" }: Frame): object {
  return { id, topic, partition: 0, seq: ++seq, ts: Date.now() };
}

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
server.on("upgrade", (request, socket: Socket, head) => {
  sockets.handleUpgrade(request, socket, head, (ws) => (request.url === "/sends" ? pour(ws) : echo(ws)));
});

function echo(ws: WebSocket): void {
  ws.on("message", (data) => {
    const frames = JSON.parse(data.toString()) as Frame[];
    ws.send(JSON.stringify(frames.map((frame) => ({ type: "OK", corr: frame.corr, result: place(frame) }))));
  });
}

/** As many events as it is asked for, with at most `window` not acked. */
function pour(ws: WebSocket): void {
  let sent = 0;
  let acked = 0;
  let total = 0;
  let window = 0;
  const ctx = { attempt: 1, max_attempts: 5, epoch: 1, ack_deadline_ms: 30_000 };
  const more = (): void => {
    const raw = (ws as unknown as { _socket: Socket })._socket;
    raw.cork();
    while (sent < total && sent - acked < window) {
      const frames: string[] = [];
      for (let chars = 0; chars < MESSAGE_CHARS && sent < total && sent - acked < window; ) {
        const event = eventText(++sent);
        const frame = `{"type":"EVENT","topic":"bench","group":"g","event":${event},"ctx":${JSON.stringify(ctx)}}`;
        frames.push(frame);
        chars += frame.length;
      }
      ws.send(`[${frames.join(",")}]`);
    }
    raw.uncork();
  };
  ws.on("message", (data) => {
    const message = JSON.parse(data.toString()) as Frame[] | { events: number; window: number };
    if (Array.isArray(message)) acked += message.length;
    else ({ events: total, window } = message);
    more();
  });
}

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ spentUs: user + system });
});
process.once("disconnect", () => process.exit(0));
