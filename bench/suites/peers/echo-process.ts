/** A server that reads events and answers each, and does nothing else: over WebSocket, and over HTTP. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

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
new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket) => {
  let seq = 0;
  socket.on("message", (data) => {
    const { key } = JSON.parse(String(data)) as { key: string };
    socket.send(JSON.stringify({ key, seq: ++seq }));
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit());
