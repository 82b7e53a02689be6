/** `promethean replay`: copies a topic into another, each key in order; a second time adds nothing. */
import type { Command } from "commander";
import type { Copied } from "../../project/transfer/replay.js";
import { gather, PLACES, type Place, place, positiveNumber, time } from "../arguments.js";
import { demandConsent } from "../consent.js";
import { newCommand } from "../own-command.js";
import { Progress } from "../progress.js";
import { count, counted } from "../quantities.js";
import { type ConsentOptions, perform, type Session, withConnection, withConsent } from "../session.js";
import { whileWatched } from "../watched-task.js";

interface ReplayOptions extends ConsentOptions {
  readonly from: Place;
  readonly until?: number;
  readonly key?: readonly string[];
  readonly tag?: string;
  readonly rate?: number;
  readonly resume?: string;
}

export function replayCommand(): Command {
  const command = newCommand(
    "replay",
    "Copies events of a topic into another. To move a group, see `promethean cursor set`.",
    [
      "promethean replay orders.placed orders.again --dry-run",
      "promethean replay orders.placed orders.again --from -1d --rate 500 --yes",
    ],
  )
    .argument("<from>", "the topic to read")
    .argument("<to>", "the topic to write")
    .option("--from <place>", `where to begin: ${PLACES}`, place, "earliest" as Place)
    .option("--until <time>", "only events before this time", time)
    .option("-k, --key <key>", "only events of this key; may be given several times", gather)
    .option("--tag <tag>", "only events with this tag")
    .option("--rate <n>", "at most this many a second", positiveNumber)
    .option("--resume <name>", "keep the place under this name, and go on there after an interruption");
  return withConsent(withConnection(command)).action(perform<ReplayOptions, [string, string]>(replay));
}

async function replay(session: Session<ReplayOptions>, topic: string, to: string): Promise<void> {
  const { out, options, signal } = session;
  const backend = await session.connect();
  const filter = {
    ...(options.key !== undefined && { keys: options.key }),
    ...(options.tag !== undefined && { tag: options.tag }),
    ...(options.until !== undefined && { untilTs: options.until }),
  };
  const body = {
    from: { topic, position: options.from },
    to,
    ...(Object.keys(filter).length > 0 && { filter }),
    ...(options.rate !== undefined && { rate: options.rate }),
    ...(options.resume !== undefined && { resume: options.resume }),
  };
  session.soFar = `nothing was copied to ${to}`;
  const preview = await backend.post<Copied>("/replay", { ...body, dryRun: true });
  const would = `${counted(preview.events, "event")} of ${topic} would be copied to ${to}.`;
  if (options.dryRun) return out.value(preview, would);
  if (preview.events === 0) return out.value(preview, `${topic} has no such event to copy.`);
  await demandConsent(`${would} Go on?`, { yes: options.yes ?? false, signal });
  const title = `replay ${topic} → ${to}`;
  const progress = new Progress(title, preview.events, "events");
  const again = options.resume === undefined ? "adds none of it twice" : "goes on";
  session.soFar = `what was copied to ${to} stays, and the same command ${again}`;
  const copying = backend.post<Copied>("/replay", body);
  const done = await whileWatched(backend, title, copying, ({ events }) => {
    progress.at(Number(events));
    const of = `${count(Number(events))} or more of ${counted(preview.events, "event")}`;
    session.soFar = `${of} were copied to ${to} and stay, and the same command ${again}`;
  }).finally(() => progress.end());
  const there = done.duplicates === 0 ? "" : `; ${counted(done.duplicates, "event")} of them were there`;
  out.value(done, `${counted(done.events, "event")} of ${topic} copied to ${to}${there}.`);
}
