/**
 * A server that reads events and answers each, and does nothing else: over WebSocket, and over HTTP. To those who connect at
 * /synced it answers when the event is on the disk, in a file whose room was made before: no server that syncs each event
 * has less to do.
 */
import { fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocketServer } from "ws";

const SLOTS = 4_096;
const SLOT_BYTES = 1_024;
let folder: string | undefined;

const server = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  request.once("end", () => {
    const { key } = JSON.parse(text) as { key: string };
    response.setHeader("content-type", "application/json").end(JSON.stringify({ key }));
  });
});
new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket, { url }) => {
  let seq = 0;
  const keep = url === "/synced" ? syncedFile() : () => undefined;
  socket.on("message", (data: Buffer) => {
    keep(data);
    const { key } = JSON.parse(String(data)) as { key: string };
    socket.send(JSON.stringify({ key, seq: ++seq }));
  });
});

/** Writes over the same room again and again: events are much smaller than a slot. */
function syncedFile(): (data: Buffer) => void {
  folder ??= mkdtempSync(join(tmpdir(), "promethean-bench-"));
  const file = openSync(join(folder, "synced"), "w");
  writeSync(file, Buffer.alloc(SLOTS * SLOT_BYTES));
  fdatasyncSync(file);
  let count = 0;
  return (data) => {
    writeSync(file, data, 0, data.length, (count++ % SLOTS) * SLOT_BYTES);
    fdatasyncSync(file);
  };
}

server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  process.exit();
});
