/** `promethean outbox`: what business transactions left to be published, and what got stuck. */
import type { Command } from "commander";
import type { OutboxRow, OutboxStats } from "../../ports/outbox.js";
import { gather } from "../arguments.js";
import type { Backend } from "../backend.js";
import { demandConsent } from "../consent.js";
import { factLines, tableLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { count, counted, duration } from "../quantities.js";
import { type ConsentOptions, perform, type Session, withConnection, withConsent } from "../session.js";

interface RequeueOptions extends ConsentOptions {
  readonly id?: readonly string[];
}

const MAX_LISTED = 1_000;

export function outboxCommand(): Command {
  return newCommand("outbox", "The outbox of a store.", ["promethean outbox status"])
    .addCommand(
      withConnection(
        newCommand(
          "status",
          "Counts entries by state, and lists those that were given up or failed so far.",
          ["promethean outbox status", "promethean outbox status --json"],
        ),
      ).action(perform<object, []>(status)),
    )
    .addCommand(
      withConsent(
        withConnection(
          newCommand("requeue", "Lets entries that were given up be tried again.", [
            "promethean outbox requeue --dry-run",
            "promethean outbox requeue --id <entry> --yes",
          ]).option("--id <id>", "only this entry; may be given several times", gather),
        ),
      ).action(perform<RequeueOptions, []>(requeue)),
    );
}

type Outbox = OutboxStats & { readonly items: readonly OutboxRow[] };

async function status(session: Session): Promise<void> {
  const backend = await session.connect();
  const { items, ...stats } = await outboxOf(backend, "dead");
  const entries = [...items, ...(await failingOutbox(backend)).items];
  session.out.value({ ...stats, entries }, words(stats, entries));
}

function outboxOf(backend: Backend, state: "dead" | "pending"): Promise<Outbox> {
  return backend.get<Outbox>("/outbox", { status: state, limit: MAX_LISTED });
}

/** With the entries that wait to be tried again: until then the others of their key wait, too. */
export async function failingOutbox(backend: Backend): Promise<Outbox> {
  const { items, ...stats } = await outboxOf(backend, "pending");
  return { ...stats, items: items.filter(({ failures }) => failures > 0) };
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
    { title: "ENTRY", whole: true, cell: ({ id }) => id },
    { title: "TOPIC", cell: ({ topic }) => topic },
    { title: "KEY", cell: ({ key }) => key },
    { title: "STATUS", cell: ({ status: state }) => state },
    { title: "TRIES", align: "right", cell: ({ failures }) => failures },
    { title: "ERROR", cell: ({ error }) => error },
  ]);
  return entries.length === 0 ? facts : `${facts}\n\n${table.join("\n")}`;
}

async function requeue(session: Session<RequeueOptions>): Promise<void> {
  const { out, options, signal } = session;
  const backend = await session.connect();
  const { items, dead } = await outboxOf(backend, "dead");
  const { id: ids } = options;
  const found = ids === undefined ? dead : items.filter(({ id }) => ids.includes(id)).length;
  const would = `${counted(found, "entry", "entries")} would be tried again.`;
  if (options.dryRun) return out.value({ wouldRequeue: found }, would);
  if (found === 0) return out.value({ requeued: 0 }, "There is no such entry to try again.");
  await demandConsent(`${would} Go on?`, { yes: options.yes ?? false, signal });
  const done = await backend.post<{ requeued: number }>("/outbox/requeue", {
    ...(ids !== undefined && { ids }),
  });
  out.value(done, `${counted(done.requeued, "entry", "entries")} will be tried again.`);
}
