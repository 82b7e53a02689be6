/** `promethean import`: lines of an export come in again; what is there already is counted, not added. */
import { stat } from "node:fs/promises";
import type { Command } from "commander";
import type { Imported } from "../../project/import-events.js";
import { readInput } from "../arguments.js";
import { Progress } from "../progress.js";
import { counted } from "../quantities.js";
import { newCommand, perform, type Session, withConnection } from "../session.js";

interface ImportOptions {
  readonly keepPartitions?: boolean;
  readonly resume?: string;
}

export function importCommand(): Command {
  const command = newCommand(
    "import",
    "Reads lines of an export, from a file or stdin. The same lines again add nothing.",
    [
      "promethean import orders.placed orders.ndjson",
      "promethean export orders.placed | promethean import orders.placed --store bus.db",
      "promethean export orders.placed | grep customer-42 | promethean import orders.chosen",
    ],
  )
    .argument("[topic]", "the topic; by default the one each line names")
    .argument("[file]", 'the file; "-" is stdin', "-")
    .option("--keep-partitions", "put each event into the partition it came from")
    .option("--resume <name>", "keep the place under this name, and go on there after an interruption");
  return withConnection(command).action(perform<ImportOptions, [string | undefined, string]>(importLines));
}

async function importLines(
  session: Session<ImportOptions>,
  topic: string | undefined,
  file: string,
): Promise<void> {
  const { keepPartitions, resume } = session.options;
  const backend = await session.connect();
  const size = file === "-" ? undefined : (await stat(file).catch(() => undefined))?.size;
  const progress = new Progress(`import ${topic ?? ""}`.trimEnd(), size);
  const query = { topic, keepPartitions, resume };
  try {
    const done = await backend.send<Imported>("/import", query, watched(readInput(file), progress));
    const again = done.duplicates === 0 ? "" : `; ${counted(done.duplicates, "event")} of them there already`;
    session.out.value(
      done,
      `${counted(done.lines, "line")} read, ${counted(done.imported, "event")} imported${again}`,
    );
  } finally {
    progress.end();
  }
}

async function* watched(input: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const chunk of input) {
    progress.add(chunk.length);
    yield chunk;
  }
}
