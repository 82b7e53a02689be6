/** `promethean view`: read models, as they are, as they were, and made anew. */
import type { Command } from "commander";
import type { Job } from "../../hub/jobs.js";
import type { ViewInfo } from "../../ports/documents.js";
import type { RebuildResult } from "../../project/rebuild/rebuild.js";
import type { RebuildPreview } from "../../project/rebuild/rebuild-preview.js";
import type { RolledBackView } from "../../project/rebuild/view-rollback.js";
import type { RemovedView } from "../../project/view-removal.js";
import type { ViewPage, ViewRecord } from "../../project/views/view.js";
import { gatherPairs, time, wholeNumber } from "../arguments.js";
import { demandConsent } from "../consent.js";
import { finishedWithBar } from "../jobs.js";
import { newCommand } from "../own-command.js";
import { count, counted } from "../quantities.js";
import { removeIfAgreed } from "../removal.js";
import { type ConsentOptions, perform, type Session, withConnection, withConsent } from "../session.js";

interface ListOptions {
  readonly where?: Readonly<Record<string, string>>;
  readonly order?: string;
  readonly limit: number;
  readonly at?: number;
}

export function viewCommand(): Command {
  return newCommand("view", "Views (read models): documents by key, made of events.", [
    "promethean view ls",
    "promethean view get totals customer-42",
  ])
    .addCommand(getCommand())
    .addCommand(lsCommand())
    .addCommand(atCommand())
    .addCommand(rebuildCommand())
    .addCommand(rollbackCommand())
    .addCommand(rmCommand());
}

function getCommand(): Command {
  const command = newCommand("get", "Shows a document.", [
    "promethean view get totals customer-42",
    "promethean view get totals customer-42 --at -1s --json",
  ])
    .argument("<view>", "the view")
    .argument("<key>", "the document's key")
    .option("--at <time>", "as it was at this time", time);
  return withConnection(command).action(
    perform<{ at?: number }, [string, string]>(async (session, view, key) => {
      const backend = await session.connect();
      const path = `/snap/${encodeURIComponent(view)}`;
      const document = await backend.get<ViewRecord>(path, { key, at: session.options.at });
      session.out.value(document, JSON.stringify(document, null, 2));
    }),
  );
}

function lsCommand(): Command {
  const command = newCommand("ls", "Lists the views, or the documents of one.", [
    "promethean view ls",
    "promethean view ls totals --limit 10",
    "promethean view ls totals --where order=7 --order -order",
  ])
    .argument("[view]", "the view")
    .option(
      "-w, --where <field=value>",
      "only documents with this value; may be given several times",
      gatherPairs,
    )
    .option("--order <field>", 'by this field; "-field" for descending')
    .option("-n, --limit <n>", "at most this many", wholeNumber(1, 1_000), 50);
  return withConnection(command).action(perform<ListOptions, [string?]>(list));
}

async function list(session: Session<ListOptions>, view?: string): Promise<void> {
  const { out, options } = session;
  const backend = await session.connect();
  if (view !== undefined) {
    const where = Object.entries(options.where ?? {}).map(
      ([field, value]) => [`where.${field}`, value] as const,
    );
    const { order, limit } = options;
    return printPage(
      session,
      await backend.get(`/snap/${encodeURIComponent(view)}`, { order, limit, ...Object.fromEntries(where) }),
    );
  }
  const { items } = await backend.get<{ items: ViewInfo[] }>("/views");
  out.table(
    items,
    [
      { title: "VIEW", cell: (info) => info.view },
      { title: "DOCUMENTS", align: "right", cell: ({ documents }) => count(documents) },
      {
        title: "INDEXES",
        cell: ({ indexes }) => indexes.map(({ keys }) => Object.keys(keys).join("+")).join(", ") || "–",
      },
    ],
    "There are no views yet: projectors make them.",
  );
}

function printPage({ out }: Session, { items, next }: ViewPage): void {
  out.table<ViewRecord>(
    items,
    [
      { title: "KEY", cell: ({ _key }) => _key },
      { title: "VERSION", align: "right", cell: ({ _v }) => _v },
      { title: "DOCUMENT", cell: ({ _key, _v, _ts, ...fields }) => JSON.stringify(fields) },
    ],
    "There are no such documents.",
  );
  if (next !== null) out.note("There are more; --limit shows up to 1,000.");
}

function atCommand(): Command {
  const command = newCommand("at", "Lists the documents of a view as they were at a time.", [
    "promethean view at totals -- -1h",
    "promethean view at totals 2024-05-01T12:00:00Z --json",
  ])
    .argument("<view>", "the view")
    .argument("<time>", 'milliseconds, ISO 8601, or a span before now such as "-1h" (after "--")', time)
    .option("-n, --limit <n>", "at most this many", wholeNumber(1, 1_000), 50);
  return withConnection(command).action(
    perform<ListOptions, [string, number]>(async (session, view, at) => {
      const backend = await session.connect();
      const { limit } = session.options;
      printPage(session, await backend.get(`/snap/${encodeURIComponent(view)}`, { at, limit }));
    }),
  );
}

function rebuildCommand(): Command {
  const command = newCommand(
    "rebuild",
    "Rebuilds a view from its topic, compares it with the old one, and switches over; the old one is kept for a rollback.",
    ["promethean view rebuild totals --dry-run", "promethean view rebuild totals --yes"],
  ).argument("<view>", "the view; one with code of its own is rebuilt by a hub that runs its projector");
  command.option("--force", "put it in place although it lacks events that the old one has");
  return withConsent(withConnection(command)).action(perform<RebuildOptions, [string]>(rebuild));
}

interface RebuildOptions extends ConsentOptions {
  readonly force?: boolean;
}

async function rebuild(session: Session<RebuildOptions>, view: string): Promise<void> {
  const { out, options, signal } = session;
  const backend = await session.connect();
  const path = `/views/${encodeURIComponent(view)}/rebuild`;
  session.soFar = "nothing was rebuilt";
  const preview = await backend.post<RebuildPreview>(path, { dryRun: true });
  if (!options.dryRun)
    await demandConsent(`${planOf(preview)} Go on?`, { yes: options.yes ?? false, signal });
  session.soFar = `the same command begins it again`;
  const wish = options.dryRun ? { switch: false } : options.force ? { switch: true } : {};
  const { job } = await backend.post<{ job: Job }>(path, wish);
  const result = (await finishedWithBar(session, backend, job, `rebuild ${view}`)) as RebuildResult;
  out.value(result, words(result) + (options.dryRun ? "" : reasonOf(result)));
}

function planOf({ view, others, topic, events }: RebuildPreview): string {
  return `${view}${along(others)} will be made anew from ${counted(events, "event")} of ${topic}, and put in place of the old one.`;
}

function rollbackCommand(): Command {
  const command = newCommand("rollback", "Puts the view that a rebuild replaced back into its place.", [
    "promethean view rollback totals --dry-run",
    "promethean view rollback totals --yes",
  ]).argument("<view>", "the view");
  return withConsent(withConnection(command)).action(perform<ConsentOptions, [string]>(rollback));
}

async function rollback(session: Session<ConsentOptions>, view: string): Promise<void> {
  const { out, options, signal } = session;
  const backend = await session.connect();
  const path = `/views/${encodeURIComponent(view)}/rollback`;
  session.soFar = "nothing was changed";
  const preview = await backend.post<RolledBackView>(path, { dryRun: true });
  const whole = `${view}${along(preview.others)}`;
  const would = `${whole} as before the last rebuild would be in use again.`;
  if (options.dryRun) return out.value(preview, `${would} Nothing was changed.`);
  await demandConsent(`${would} Go on?`, { yes: options.yes ?? false, signal });
  session.soFar = undefined;
  const done = await backend.post<RolledBackView>(path, { dryRun: false });
  out.value(done, `${whole} as before the last rebuild is in use again.`);
}

function rmCommand(): Command {
  const command = newCommand(
    "rm",
    "Removes a view whose projector does not run: its documents, and where its projector stands. That of a change feed has what the feed knows of what it published: without it, its next start scans the collection and publishes all that is there anew.",
    ["promethean view rm old-totals --dry-run", "promethean view rm old-totals --yes"],
  ).argument("<view>", "the view");
  return withConsent(withConnection(command)).action(perform<ConsentOptions, [string]>(remove));
}

function remove(session: Session<ConsentOptions>, view: string): Promise<void> {
  return removeIfAgreed<RemovedView>(session, {
    path: `/views/${encodeURIComponent(view)}/remove`,
    loss: lossOf,
    done: (removed) => `${lossOf(removed)} It was removed.`,
  });
}

function lossOf({ view, others, documents, feeds }: RemovedView): string {
  if (feeds !== undefined)
    return `${view}: ${counted(documents, "digest")}, by which the change feed ${feeds.join(", ")} knows what it has published. Its next start will scan the collection and publish all that is there anew; what was deleted meanwhile it will not tell.`;
  return `${view}${along(others)}: ${counted(documents, "document")}, in all builds.`;
}

/** Views that one projector keeps go together. */
function along(others: readonly string[]): string {
  return others.length === 0 ? "" : `, with ${others.join(", ")} of the same projector`;
}

/** Why it was not put in place. */
function reasonOf({ switched, givenUp, gone }: RebuildResult): string {
  if (switched) return "";
  const lacking = givenUp > 0 ? `gave up ${counted(givenUp, "event")}` : `lacks ${counted(gone, "event")}`;
  return `\nThe new one ${lacking} that the old one has; --force puts it in place nevertheless.`;
}

function words({ view, same, added, removed, changed, switched, samples }: RebuildResult): string {
  const differences = `${count(same)} the same, ${count(added)} added, ${count(removed)} removed, ${count(changed)} changed`;
  const outcome = switched ? `The rebuilt ${view} is in use.` : `The old ${view} stays in use.`;
  const shown = samples
    .slice(0, 5)
    .map(({ key, before, after }) => `  ${key}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`);
  return [
    `${counted(same + added + removed + changed, "document")}: ${differences}. ${outcome}`,
    ...shown,
  ].join("\n");
}
