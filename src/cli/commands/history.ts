/** `promethean history`: the events of a key. */
import type { Command } from "commander";
import type { EventRecord } from "../../model/event.js";
import { wholeNumber } from "../arguments.js";
import { eventLine, terminalColumns } from "../event-line.js";
import { failure } from "../exit.js";
import { newCommand } from "../own-command.js";
import { perform, type Session, withConnection } from "../session.js";

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
    .option("-n, --limit <n>", "at most this many", wholeNumber(1, 1_000), 100);
  return withConnection(command).action(perform<HistoryOptions, [string, string]>(show));
}

async function show(session: Session<HistoryOptions>, topic: string, key: string): Promise<void> {
  const { out, options } = session;
  const backend = await session.connect();
  const path = `/topics/${encodeURIComponent(topic)}/keys`;
  const order = options.newest ? "newest" : "oldest";
  const { items: events } = await backend.get<{ items: EventRecord[] }>(path, {
    key,
    order,
    limit: options.limit,
  });
  if (events.length === 0) throw failure("NOT_FOUND", `${topic} has no event of the key ${key}`);
  for (const event of events)
    out.line(out.json ? JSON.stringify(event) : eventLine(event, terminalColumns()));
}
