/** `promethean import`: lines of an export come in again; what is there already is counted, not added. */
import { stat } from "node:fs/promises";
import type { Command } from "commander";
import { derivedId } from "../../model/derived-id.js";
import type { Imported } from "../../project/transfer/import-events.js";
import { parseJson, readInput } from "../arguments.js";
import { CliError, codeOf, failure, usageError } from "../exit.js";
import { inputLines } from "../input-lines.js";
import { newCommand } from "../own-command.js";
import { Progress } from "../progress.js";
import { count, counted } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";
import { whileWatched } from "../watched-task.js";

interface ImportOptions {
  readonly keepPartitions?: boolean;
  readonly resume?: string;
  readonly newIds?: boolean;
}

export function importCommand(): Command {
  const command = newCommand(
    "import",
    "Reads lines of an export, from a file or stdin. The same lines again add nothing.",
    [
      "promethean import orders.placed orders.ndjson",
      "promethean export orders.placed | promethean import orders.placed --store bus.db",
      "promethean export orders.placed | grep customer-42 | promethean import orders.chosen --new-ids",
    ],
  )
    .argument("[topic]", "the topic; by default the one each line names")
    .argument("[file]", 'the file; "-", or none, is stdin')
    .option("--keep-partitions", "put each event into the partition it came from")
    .option(
      "--new-ids",
      "derive new ids, for a copy within one store; the same lines again still add nothing",
    )
    .option("--resume <name>", "keep the place under this name, and go on there after an interruption");
  return withConnection(command).action(
    perform<ImportOptions, [string | undefined, string | undefined]>(importLines),
  );
}

async function importLines(
  session: Session<ImportOptions>,
  topic: string | undefined,
  file: string | undefined,
): Promise<void> {
  const { keepPartitions, resume, newIds } = session.options;
  if (topic !== undefined && file === undefined) await refuseFileAsTopic(topic);
  const backend = await session.connect();
  const path = file ?? "-";
  const size = path === "-" ? undefined : (await stat(path).catch(() => undefined))?.size;
  const progress = new Progress(`import ${topic ?? ""}`.trimEnd(), size, "bytes");
  const query = { topic, keepPartitions, resume };
  const again =
    resume === undefined ? "the same lines again add none of it twice" : "the same command goes on";
  session.soFar = `what was imported stays, and ${again}`;
  try {
    const input = watched(readInput(path), progress);
    const lines = newIds ? withNewIds(input, topic) : input;
    const sent = backend.send<Imported>("/import", query, lines);
    const done = await whileWatched(backend, `import ${topic ?? "*"}`, sent, ({ imported }) => {
      session.soFar = `${counted(Number(imported), "event")} or more were imported and stay, and ${again}`;
    }).catch((error: unknown) => {
      // A hub that answers says itself how much is in.
      if (codeOf(error) !== "OUTCOME_UNKNOWN") session.soFar = `what was imported stays, and ${again}`;
      return suggestNewIds(error);
    });
    const there = done.duplicates === 0 ? "" : `; ${count(done.duplicates)} were there already`;
    session.out.value(
      done,
      `${counted(done.lines, "line")} read, ${counted(done.imported, "event")} imported${there}`,
    );
  } finally {
    progress.end();
  }
}

/** A file's name may well be a topic's: nothing would be read of it, and stdin waited for. */
async function refuseFileAsTopic(name: string): Promise<void> {
  const found = await stat(name).catch(() => undefined);
  if (found?.isFile())
    throw usageError(
      `${name} is a file, and the topic comes first`,
      `promethean import <topic> ${name}, or: promethean import < ${name}`,
    );
}

async function* watched(input: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const chunk of input) {
    progress.add(chunk.length);
    yield chunk;
  }
}

/** Ids are unique in a store: a copy needs others. They follow from the first ones, so that a second run finds them. */
async function* withNewIds(input: AsyncIterable<Buffer>, topic: string | undefined): AsyncGenerator<string> {
  for await (const { number, text } of inputLines(input)) {
    const event = parseJson(text, `line ${number}`) as { id?: string; topic?: string };
    const id =
      event?.id === undefined ? {} : { id: derivedId("import", event.id, topic ?? event.topic ?? "") };
    yield `${JSON.stringify({ ...event, ...id })}\n`;
  }
}

function suggestNewIds(error: unknown): never {
  if (!(error instanceof CliError) || error.code !== "ID_CONFLICT") throw error;
  const hint = "ids are unique in a store; to copy events within one, add --new-ids";
  throw failure(error.code, error.message, { hint, cause: error });
}
