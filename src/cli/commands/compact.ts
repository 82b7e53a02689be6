/** `promethean compact`: compacts topics now, instead of waiting for the compactor. */
import type { Command } from "commander";
import { compactNow } from "../../project/history/compactor.js";
import { span } from "../arguments.js";
import { demandConsent } from "../consent.js";
import { failure } from "../exit.js";
import { demandBus } from "../own-bus.js";
import { newCommand } from "../own-command.js";
import { count, counted } from "../quantities.js";
import { type ConsentOptions, perform, type Session, withConnection, withConsent } from "../session.js";

interface CompactOptions extends ConsentOptions {
  readonly keepHistory?: number;
}

export function compactCommand(): Command {
  const command = newCommand(
    "compact",
    "Removes events that a newer one of their key supersedes, and writes the snapshots. Works on a store (--store), not through a hub.",
    ["promethean compact --store bus.db --dry-run", "promethean compact process.state --store bus.db --yes"],
  )
    .argument("[topic]", "one topic; by default every topic with compaction")
    .option("--keep-history <span>", "keep superseded events for this long", span);
  return withConsent(withConnection(command)).action(perform<CompactOptions, [string?]>(compact));
}

async function compact(session: Session<CompactOptions>, topic?: string): Promise<void> {
  const { out, options, signal } = session;
  const bus = demandBus(await session.connect(), "compact");
  const topics = (await bus.topics()).filter(
    ({ name, compaction }) => compaction && (topic ?? name) === name,
  );
  if (topic !== undefined && topics.length === 0)
    throw failure("NOT_FOUND", `${topic} is no topic with compaction`);
  const events = await Promise.all(
    topics.map(async ({ name }) =>
      (await bus.store.log.heads(name)).reduce((sum, head) => sum + head.events, 0),
    ),
  );
  const total = events.reduce((sum, each) => sum + each, 0);
  const names = topics.map(({ name }) => name);
  const would = `${counted(total, "event")} of ${counted(names.length, "topic")} would be looked at; the newest of each key stays.`;
  if (options.dryRun || names.length === 0) return out.value({ topics: names, events: total }, would);
  await demandConsent(`${would} Go on?`, { yes: options.yes ?? false, signal });
  const { keepHistory } = options;
  const done = await compactNow(bus, {
    topics: names,
    signal,
    ...(keepHistory !== undefined && { keepHistoryMs: keepHistory }),
  });
  out.value(
    done,
    `${count(done.scanned)} looked at, ${count(done.removed + done.tombstonesRemoved)} removed, ${count(done.snapshotEntries)} snapshot entries written.`,
  );
}
