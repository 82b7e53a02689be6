/** `promethean publish`: one event from the command line, or one for each line of stdin. */
import type { Command } from "commander";
import { gather, gatherPairs, parseJson, readInput, time, wholeNumber } from "../arguments.js";
import type { Backend } from "../backend.js";
import { CliError, failure, usageError } from "../exit.js";
import { inputLines } from "../input-lines.js";
import { newCommand } from "../own-command.js";
import { counted } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";

interface PublishOptions {
  readonly key?: string;
  readonly id?: string;
  readonly ts?: number;
  readonly partition?: number;
  readonly header?: Readonly<Record<string, string>>;
  readonly tag?: readonly string[];
}

interface Placed {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly seq: number;
  readonly duplicate?: true;
}

export function publishCommand(): Command {
  const command = newCommand("publish", "Publishes one event, or one for each line of stdin.", [
    `promethean publish orders.placed '{"order":7}' --key customer-42`,
    `printf '{"order":8}\\n{"order":9}\\n' | promethean publish orders.placed -`,
    `promethean publish orders.placed '{"order":7}' --id order-7 --header x-source=shop --json`,
  ])
    .argument("<topic>", "the topic; it is made if it is new")
    .argument("<payload>", 'JSON, or "-" for stdin with one payload a line')
    .option("-k, --key <key>", "events of one key stay in order")
    .option("--id <id>", "the idempotency key of one event: the same id again adds nothing")
    .option("--ts <time>", "the event's time; now by default", time)
    .option("--partition <n>", "the partition; by key by default", wholeNumber(0))
    .option("-H, --header <name=value>", "a header; may be given several times", gatherPairs)
    .option("--tag <tag>", "a tag; may be given several times", gather);
  return withConnection(command).action(perform<PublishOptions, [string, string]>(publish));
}

async function publish(session: Session<PublishOptions>, topic: string, payload: string): Promise<void> {
  const { key, id, ts, partition, header, tag } = session.options;
  const about = {
    ...(key !== undefined && { key }),
    ...(ts !== undefined && { ts }),
    ...(partition !== undefined && { partition }),
    ...(header !== undefined && { headers: header }),
    ...(tag !== undefined && { tags: tag }),
  };
  if (payload === "-") {
    if (id !== undefined) throw usageError("--id is for one event, and every line is one");
    return publishLines(session, await session.connect(), topic, about);
  }
  const event = {
    topic,
    payload: parseJson(payload, "the payload", `quote it for the shell: '{"order":7}', or '"text"'`),
    ...about,
    ...(id !== undefined && { id }),
  };
  const backend = await session.connect();
  session.soFar =
    id === undefined
      ? "it may be there or not; with an --id, the same command again would add nothing twice"
      : "the same command again adds nothing twice";
  const placed = await backend.post<Placed>("/publish", event);
  const again = placed.duplicate ? " (it was there already)" : "";
  session.out.value(placed, `${placed.topic} ${placed.partition}/${placed.seq} ${placed.id}${again}`);
}

async function publishLines(
  session: Session<PublishOptions>,
  backend: Backend,
  topic: string,
  about: object,
): Promise<void> {
  let wrong: CliError | undefined;
  const lines = envelopes(readInput("-"), about, (error) => {
    wrong = error;
  });
  session.soFar = "what was published stays, and the same lines again would be other events";
  const done = await backend.send<{ published: number; duplicates: number }>("/publish", { topic }, lines);
  const published = `${counted(done.published, "event")} published to ${topic}`;
  if (wrong !== undefined) throw failure(wrong.code, `${wrong.message}; ${published} before it`);
  session.out.value(done, published);
}

/** Each line becomes an event around that payload. Ends before one that cannot: what comes before it is published. */
async function* envelopes(
  input: AsyncIterable<Buffer>,
  about: object,
  onWrong: (error: CliError) => void,
): AsyncGenerator<string> {
  const rest = JSON.stringify(about).slice(1);
  try {
    for await (const { number, text } of inputLines(input)) {
      if (!isJson(text)) throw failure("INVALID_PAYLOAD", `line ${number} is not JSON`);
      yield `{"payload":${text}${rest === "}" ? "" : ","}${rest}\n`;
    }
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    onWrong(error);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
