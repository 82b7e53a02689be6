/** What Node knows of a connection, and has no name for. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The answer that is written there now: the next one takes its place before it closes. */
export function openAnswer(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}
