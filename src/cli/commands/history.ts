/** `promethean history`: the events of a key. */
import type { Command } from "commander";
import type { EventRecord } from "../../model/event.js";
import { history } from "../../project/time-travel.js";
import { wholeNumber } from "../arguments.js";
import type { Backend } from "../backend.js";
import { eventLine, terminalColumns } from "../event-line.js";
import { failure } from "../exit.js";
import { newCommand, perform, type Session, withConnection } from "../session.js";

interface HistoryOptions {
  readonly limit: number;
  readonly newest?: boolean;
}

export function historyCommand(): Command {
  const command = newCommand("history", "Prints the events of a key, in order.", [
    "promethean history orders.placed customer-42",
    "promethean history orders.placed customer-42 --newest --limit 1 --json",
  ])
    .argument("<topic>", "the topic")
    .argument("<key>", "the key")
    .option("--newest", "the newest ones, newest first")
    .option("-n, --limit <n>", "at most so many", wholeNumber(1, 10_000), 100);
  return withConnection(command).action(perform<HistoryOptions, [string, string]>(show));
}

async function show(session: Session<HistoryOptions>, topic: string, key: string): Promise<void> {
  const { out, options } = session;
  const backend = await session.connect();
  const events = await eventsOf(backend, topic, key, options);
  if (events.length === 0) throw failure("NOT_FOUND", `${topic} has no event of the key ${key}`);
  for (const event of events)
    out.line(out.json ? JSON.stringify(event) : eventLine(event, terminalColumns()));
}

async function eventsOf(
  backend: Backend,
  topic: string,
  key: string,
  { limit, newest = false }: HistoryOptions,
): Promise<readonly EventRecord[]> {
  if (backend.bus !== undefined) return history(backend.bus, topic, key, { limit, newestFirst: newest });
  const lines = await backend.stream("/export", { topic, key, ...(!newest && { limit }) });
  const events = await parsed(lines);
  return newest ? events.reverse().slice(0, limit) : events;
}

async function parsed(pieces: AsyncIterable<Uint8Array>): Promise<EventRecord[]> {
  const chunks: Uint8Array[] = [];
  for await (const piece of pieces) chunks.push(piece);
  const text = Buffer.concat(chunks).toString("utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as EventRecord);
}
