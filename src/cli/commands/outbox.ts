/** `promethean outbox`: what business transactions left to be published, and what got stuck. */
import type { Command } from "commander";
import type { OutboxRow, OutboxStats } from "../../ports/outbox.js";
import { gather } from "../arguments.js";
import { demandConsent } from "../consent.js";
import { factLines, tableLines } from "../output.js";
import { demandBus } from "../own-bus.js";
import { count, counted, duration } from "../quantities.js";
import { newCommand, perform, type Session, withConnection, withConsent } from "../session.js";

interface RequeueOptions {
  readonly id?: readonly string[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const MAX_DEAD = 1_000;

export function outboxCommand(): Command {
  return newCommand("outbox", "The outbox of a store.", ["promethean outbox status --store bus.db"])
    .addCommand(
      withConnection(
        newCommand("status", "Counts entries by state, and lists those that were given up.", [
          "promethean outbox status --store bus.db",
          "promethean outbox status --store bus.db --json",
        ]),
      ).action(perform<object, []>(status)),
    )
    .addCommand(
      withConsent(
        withConnection(
          newCommand("requeue", "Lets entries that were given up be tried again.", [
            "promethean outbox requeue --store bus.db --dry-run",
            "promethean outbox requeue --store bus.db --id <entry> --yes",
          ]).option("--id <id>", "only this entry; may be given several times", gather),
        ),
      ).action(perform<RequeueOptions, []>(requeue)),
    );
}

async function status(session: Session): Promise<void> {
  const { outbox } = demandBus(await session.connect(), "outbox status").store;
  const stats = await outbox.stats();
  const dead = await outbox.list({ status: "dead", limit: MAX_DEAD });
  session.out.value({ ...stats, dead: stats.dead, entries: dead }, words(stats, dead));
}

function words(
  { pending, claimed, sent, dead, oldestMs }: OutboxStats,
  entries: readonly OutboxRow[],
): string {
  const facts = factLines({
    pending: count(pending),
    claimed: count(claimed),
    sent: count(sent),
    dead: count(dead),
    oldest: oldestMs === null ? undefined : duration(Date.now() - oldestMs),
  });
  const table = tableLines(entries.slice(0, 20), [
    { title: "ENTRY", cell: ({ id }) => id },
    { title: "TOPIC", cell: ({ topic }) => topic },
    { title: "KEY", cell: ({ key }) => key },
    { title: "TRIES", align: "right", cell: ({ failures }) => failures },
    { title: "ERROR", cell: ({ error }) => error },
  ]);
  return entries.length === 0 ? facts : `${facts}\n\n${table.join("\n")}`;
}

async function requeue(session: Session<RequeueOptions>): Promise<void> {
  const { out, options, signal } = session;
  const { outbox } = demandBus(await session.connect(), "outbox requeue").store;
  const dead = await outbox.list({ status: "dead", limit: MAX_DEAD });
  const found = dead.filter(({ id }) => options.id === undefined || options.id.includes(id));
  const would = `${counted(found.length, "entry", "entries")} would be tried again.`;
  if (options.dryRun || found.length === 0) return out.value({ wouldRequeue: found.length }, would);
  await demandConsent(`${would} Go on?`, { yes: options.yes ?? false, signal });
  const requeued = await outbox.requeueDead(options.id);
  out.value({ requeued }, `${counted(requeued, "entry", "entries")} will be tried again.`);
}
