/** `promethean export`: a topic as lines of JSON, for a file or a pipe. */

import { once } from "node:events";
import type { Command } from "commander";
import { PLACES, type Place, place, placeText, time, wholeNumber } from "../arguments.js";
import { CliError, failure } from "../exit.js";
import { newCommand } from "../own-command.js";
import { Progress } from "../progress.js";
import { counted } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";
import { WholeFile } from "../whole-file.js";

interface ExportOptions {
  readonly from: Place;
  readonly until?: number;
  readonly key?: string;
  readonly partition?: number;
  readonly limit?: number;
  readonly output?: string;
}

export function exportCommand(): Command {
  const command = newCommand(
    "export",
    "Writes a topic as lines of JSON (NDJSON), up to what is there when it begins.",
    [
      "promethean export orders.placed > orders.ndjson",
      "promethean export orders.placed --from 2024-05-01 --until 2024-06-01 --output may.ndjson",
      "promethean export orders.placed | grep customer-42 | wc -l",
    ],
  )
    .argument("<topic>", "the topic")
    .option("--from <place>", `where to begin: ${PLACES}`, place, "earliest" as Place)
    .option("--until <time>", "only events before this time", time)
    .option("-k, --key <key>", "only events of this key")
    .option("--partition <n>", "only this partition", wholeNumber(0))
    .option("-n, --limit <n>", "at most this many", wholeNumber(1))
    .option("-o, --output <file>", "a file instead of stdout");
  return withConnection(command).action(perform<ExportOptions, [string]>(exportTopic));
}

async function exportTopic(session: Session<ExportOptions>, topic: string): Promise<void> {
  const { from, until, key, partition, limit, output } = session.options;
  const backend = await session.connect();
  const { events } = await backend.get<{ events: number }>(`/topics/${encodeURIComponent(topic)}`);
  const query = { topic, from: placeText(from), until, key, partition, limit };
  const body = await backend.stream("/export", query);
  const visible = process.stderr.isTTY === true && (output !== undefined || !process.stdout.isTTY);
  const progress = new Progress(`export ${topic}`, Math.min(events, limit ?? events), "events", visible);
  let lines = 0;
  const left = output === undefined ? "and what is written is not whole" : `and ${output} is not written`;
  session.soFar = `no event came, ${left}`;
  const counting = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of body) {
      for (const byte of piece) if (byte === 10) lines++;
      progress.at(lines);
      session.soFar = `${counted(lines, "event")} came, ${left}`;
      yield piece;
    }
  };
  try {
    await (output === undefined ? toStdout(counting(), session.signal) : toFile(output, counting()));
  } finally {
    progress.end();
  }
  if (output !== undefined) session.out.note(`${counted(lines, "event")} written to ${output}`);
}

async function toStdout(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  for await (const piece of pieces) {
    if (process.stdout.write(piece)) continue;
    // An output that cannot be written ends the whole process.
    await once(process.stdout, "drain", { signal }).catch(() => signal.throwIfAborted());
  }
}

async function toFile(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    const file = await WholeFile.begin(path);
    try {
      for await (const piece of pieces) await file.write(piece);
      await file.appear();
    } finally {
      await file.end();
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const why = (error as NodeJS.ErrnoException).code;
    throw failure("STORE_UNAVAILABLE", `${path} cannot be written (${why})`, { cause: error });
  }
}
