/** `promethean dlq`: dead letters, counted, shown, redriven, discarded. */
import type { Command } from "commander";
import type { Letter, LetterSummary } from "../../project/letters/dead-letters.js";
import type { RedriveResult } from "../../project/letters/redrive.js";
import { gather, positiveNumber, wholeNumber } from "../arguments.js";
import type { Backend } from "../backend.js";
import { demandConsent } from "../consent.js";
import { factLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { count, counted } from "../quantities.js";
import { type ConsentOptions, perform, type Session, withConnection, withConsent } from "../session.js";

interface Choice {
  readonly group?: string;
  readonly key?: string;
  readonly errorClass?: string;
  readonly id?: readonly string[];
}

interface ListOptions extends Choice {
  readonly status: string;
  readonly limit: number;
  readonly newest?: boolean;
}

interface RedriveOptions extends Choice, ConsentOptions {
  readonly to?: string;
  readonly rate?: number;
  readonly limit?: number;
  readonly allGroups?: boolean;
}

interface DiscardOptions extends Choice, ConsentOptions {
  readonly reason: string;
}

const PAGE = 1_000;
const GOES_ON = "and the same command goes on with the rest";

export function dlqCommand(): Command {
  return newCommand("dlq", "Dead letters: events that a group gave up.", [
    "promethean dlq ls",
    "promethean dlq ls orders.placed",
    "promethean dlq redrive orders.placed --group mailer --dry-run",
  ])
    .addCommand(lsCommand())
    .addCommand(showCommand())
    .addCommand(redriveCommand())
    .addCommand(discardCommand());
}

function withChoice(command: Command): Command {
  return command
    .option("-g, --group <group>", "only those that this group gave up")
    .option("-k, --key <key>", "only those of this key")
    .option("--error-class <class>", "only those of this class of errors, as `dlq ls` names it")
    .option("--id <id>", "only this letter; may be given several times", gather);
}

function lsCommand(): Command {
  const command = newCommand("ls", "Counts dead letters by topic, or lists those of a topic.", [
    "promethean dlq ls",
    "promethean dlq ls orders.placed --group mailer --newest",
    "promethean dlq ls orders.placed --status any --json",
  ])
    .argument("[topic]", "the topic they come from")
    .option("--status <status>", "open, redriven, discarded or any", "open")
    .option("-n, --limit <n>", "at most this many", wholeNumber(1, PAGE), 50)
    .option("--newest", "the newest first, not partition by partition")
    .option("-g, --group <group>", "only those that this group gave up")
    .option("-k, --key <key>", "only those of this key")
    .option("--error-class <class>", "only those of this class of errors");
  return withConnection(command).action(perform<ListOptions, [string?]>(list));
}

async function list(session: Session<ListOptions>, topic?: string): Promise<void> {
  const { out, options } = session;
  const backend = await session.connect();
  if (topic === undefined) return summarize(session, backend);
  const { group, key, errorClass, status, limit, newest } = options;
  const path = `/dlq/${encodeURIComponent(topic)}`;
  const page = await backend.get<{ items: Letter[]; next: string | null }>(path, {
    group,
    key,
    errorClass,
    status,
    order: newest ? "newest" : undefined,
    limit,
  });
  out.table(
    page.items,
    [
      { title: "LETTER", whole: true, cell: ({ id }) => id },
      { title: "GROUP", spare: 1, cell: ({ origin }) => origin.group },
      { title: "KEY", spare: 2, cell: ({ key: of }) => of },
      { title: "TRIES", spare: 3, align: "right", cell: ({ attempts }) => count(attempts) },
      { title: "STATUS", spare: 4, cell: (letter) => letter.status },
      { title: "ERROR", cell: ({ error }) => error.message.slice(0, 80) },
    ],
    `${topic} has no such dead letters.`,
  );
  if (page.next !== null) out.note("There are more; --limit shows up to 1,000.");
}

async function summarize({ out }: Session, backend: Backend): Promise<void> {
  const { items } = await backend.get<{ items: (LetterSummary & { topic: string })[] }>("/dlq");
  out.table<LetterSummary & { topic: string }>(
    items,
    [
      { title: "TOPIC", cell: ({ topic }) => topic },
      { title: "OPEN", align: "right", cell: ({ open }) => count(open) },
      { title: "REDRIVEN", spare: 2, align: "right", cell: ({ redriven }) => count(redriven) },
      { title: "DISCARDED", spare: 3, align: "right", cell: ({ discarded }) => count(discarded) },
      {
        title: "MOST OFTEN",
        cell: mostOften,
      },
      { title: "FOR EXAMPLE", spare: 1, cell: (of) => of.errorExamples[mostOften(of) ?? ""] },
    ],
    "There are no dead letters.",
  );
}

function mostOften({ byErrorClass }: Pick<LetterSummary, "byErrorClass">): string | undefined {
  return Object.entries(byErrorClass).sort((a, b) => b[1] - a[1])[0]?.[0];
}

function showCommand(): Command {
  const command = newCommand("show", "Shows a dead letter: the event, the error, where it came from.", [
    "promethean dlq show orders.placed <letter>",
    "promethean dlq show orders.placed <letter> --json",
  ])
    .argument("<topic>", "the topic it comes from")
    .argument("<letter>", "its id, as `dlq ls` names it");
  return withConnection(command).action(perform<object, [string, string]>(show));
}

async function show(session: Session, topic: string, id: string): Promise<void> {
  const backend = await session.connect();
  const letter = await backend.get<Letter>(`/dlq/${encodeURIComponent(topic)}/${encodeURIComponent(id)}`);
  const { origin, error, attempts, status, outcome, event } = letter;
  const facts = factLines({
    letter: letter.id,
    status: outcome === undefined ? status : `${status} (${outcome})`,
    group: origin.group,
    origin: `${origin.topic} ${origin.partition}/${origin.seq} ${origin.id}`,
    key: letter.key,
    "given up": new Date(letter.ts).toISOString(),
    tries: attempts,
    error: error.message,
    class: letter.errorClass,
  });
  session.out.value(letter, `${facts}\n\n${JSON.stringify(event.payload, null, 2)}`);
}

function redriveCommand(): Command {
  const command = newCommand(
    "redrive",
    "Publishes dead letters again, each key in order, for the group that gave them up.",
    [
      "promethean dlq redrive orders.placed --dry-run",
      "promethean dlq redrive orders.placed --group mailer --rate 50 --yes",
    ],
  )
    .argument("<topic>", "the topic they come from")
    .option("--to <topic>", "publish to this topic instead")
    .option("--rate <n>", "at most this many a second", positiveNumber)
    .option("-n, --limit <n>", "at most this many", wholeNumber(1))
    .option("--all-groups", "for every group, not only the one that gave them up");
  return withConsent(withConnection(withChoice(command))).action(
    perform<RedriveOptions, [string]>(redriveLetters),
  );
}

async function redriveLetters(session: Session<RedriveOptions>, topic: string): Promise<void> {
  const { out, options, signal } = session;
  const { to, rate, limit, allGroups } = options;
  const backend = await session.connect();
  const body = { ...choiceOf(options), ...defined({ to, rate, limit, allGroups }) };
  const path = `/dlq/${encodeURIComponent(topic)}/redrive`;
  session.soFar = "nothing was redriven";
  const preview = await backend.post<RedriveResult>(path, { ...body, dryRun: true });
  const would = `${counted(preview.redriven, "letter")} would be redriven to ${to ?? topic}${superseded(preview)}.`;
  if (options.dryRun) return out.value(preview, would);
  if (preview.redriven === 0)
    return out.value(preview, `There is no such letter to redrive${superseded(preview)}.`);
  await demandConsent(`${would} Go on?`, { yes: options.yes ?? false, signal });
  session.soFar = `what was redriven stays so, ${GOES_ON}`;
  const done = await backend.post<RedriveResult>(path, body);
  out.value(done, `${counted(done.redriven, "letter")} redriven to ${to ?? topic}${superseded(done)}.`);
}

function superseded({ superseded: passed }: RedriveResult): string {
  return passed === 0 ? "" : `; ${count(passed)} passed over, as a newer event of the key is there`;
}

function discardCommand(): Command {
  const command = newCommand(
    "discard",
    "Marks dead letters as discarded, for good; the audit log keeps the reason.",
    [
      "promethean dlq discard orders.placed --reason 'test data' --dry-run",
      "promethean dlq discard orders.placed --id <letter> --reason 'test data' --yes",
    ],
  )
    .argument("<topic>", "the topic they come from")
    .requiredOption("--reason <words>", "why");
  return withConsent(withConnection(withChoice(command))).action(perform<DiscardOptions, [string]>(discard));
}

async function discard(session: Session<DiscardOptions>, topic: string): Promise<void> {
  const { out, options, signal } = session;
  const backend = await session.connect();
  session.soFar = "nothing was discarded";
  const found = await openLetters(backend, topic, options);
  const would = `${counted(found, "letter")} would be discarded.`;
  if (options.dryRun) return out.value({ topic, wouldDiscard: found }, would);
  if (found === 0) return out.value({ discarded: 0 }, "There is no such letter to discard.");
  await demandConsent(`${would} Go on?`, { yes: options.yes ?? false, signal });
  const path = `/dlq/${encodeURIComponent(topic)}/discard`;
  const body = { ...choiceOf(options), reason: options.reason };
  session.soFar = `what was discarded stays so, ${GOES_ON}`;
  const done = await backend.post<{ discarded: number }>(path, body);
  out.value(done, `${counted(done.discarded, "letter")} discarded.`);
}

/** How many open ones fit. */
async function openLetters(
  backend: Backend,
  topic: string,
  { group, key, errorClass, id }: Choice,
): Promise<number> {
  let found = 0;
  let after: string | undefined;
  do {
    const query = { group, key, errorClass, limit: PAGE, after };
    const page = await backend.get<{ items: Letter[]; next: string | null }>(
      `/dlq/${encodeURIComponent(topic)}`,
      query,
    );
    found += page.items.filter((letter) => id === undefined || id.includes(letter.id)).length;
    after = page.next ?? undefined;
  } while (after !== undefined);
  return found;
}

function choiceOf({ group, key, errorClass, id }: Choice): object {
  return defined({ group, key, errorClass, ids: id });
}

function defined(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
