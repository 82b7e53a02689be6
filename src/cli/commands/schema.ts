/** `promethean schema`: which schemas there are, whether a new one is compatible, and its registration. */
import type { Command } from "commander";
import type { SchemaEntry } from "../../ports/registry.js";
import type { TopicSchemaStatus } from "../../schema/evolution/schema-status.js";
import type { JsonSchema } from "../../schema/reading/schema-input.js";
import type { Compat } from "../../schema/registry/schema-version.js";
import { parseJson, readText, wholeNumber } from "../arguments.js";
import type { Backend } from "../backend.js";
import { failure } from "../exit.js";
import { newCommand } from "../own-command.js";
import { type ConsentOptions, perform, type Session, withConnection, withConsent } from "../session.js";

interface SchemaOptions extends ConsentOptions {
  readonly version?: number;
  readonly compat: string;
  readonly waive?: string;
}

export function schemaCommand(): Command {
  return newCommand("schema", "Schemas of topics.", [
    "promethean schema status",
    "promethean schema check orders.placed order-v2.json",
  ])
    .addCommand(statusCommand())
    .addCommand(checkCommand())
    .addCommand(registerCommand());
}

function statusCommand(): Command {
  const command = newCommand(
    "status",
    "Where each topic stands on its way to the newest version of its schema.",
    ["promethean schema status", "promethean schema status orders.placed --json"],
  ).argument("[topic]", "one topic");
  return withConnection(command).action(perform<object, [string?]>(status));
}

async function status(session: Session, topic?: string): Promise<void> {
  const backend = await session.connect();
  const { items } = await backend.get<{ items: TopicSchemaStatus[] }>("/schema-status", { topic });
  session.out.table(
    items,
    [
      { title: "TOPIC", cell: (item) => item.topic },
      { title: "STAGE", cell: ({ stage }) => stage },
      { title: "VERSIONS", cell: ({ versions }) => versions.map(({ version }) => version).join(", ") },
      { title: "COMPAT", cell: ({ versions }) => versions.at(-1)?.compat },
      { title: "NEWEST EVENTS", cell: ({ counts }) => countsText(counts) },
      { title: "READERS", align: "right", cell: ({ readers }) => readers.length },
    ],
    topic === undefined ? "No schemas are registered." : `${topic} has no schema.`,
  );
  for (const { sentence } of items) session.out.note(sentence);
}

/** `120 × v1, 4 × v2`. */
function countsText(counts: TopicSchemaStatus["counts"]): string | undefined {
  const texts = Object.entries(counts).map(
    ([version, count]) => `${count} × ${version === "none" ? "no version" : `v${version}`}`,
  );
  return texts.length === 0 ? undefined : texts.join(", ");
}

function withSchemaFlags(command: Command): Command {
  return command
    .argument("<topic>", "the topic")
    .argument("<file>", 'a JSON Schema; "-" is stdin')
    .option("--version <n>", "its version; by default the next one", wholeNumber(1))
    .option("--compat <mode>", "none, backward, forward or full, with or without -transitive", "backward");
}

function checkCommand(): Command {
  const command = newCommand(
    "check",
    "Says whether a schema is compatible with those registered; exit code 5 if not.",
    [
      "promethean schema check orders.placed order-v2.json",
      "promethean schema check orders.placed order-v2.json --compat full --json",
    ],
  );
  return withConnection(withSchemaFlags(command)).action(perform<SchemaOptions, [string, string]>(check));
}

async function check(session: Session<SchemaOptions>, topic: string, file: string): Promise<void> {
  const backend = await session.connect();
  const { items } = await schemasOf(backend, topic);
  const { SchemaVersion } = await import("../../schema/registry/schema-version.js");
  const { reportRegistration } = await import("../../schema/registry/registration.js");
  const present = items.map((entry) => SchemaVersion.fromEntry(entry));
  const reports = reportRegistration(
    present,
    await wanted(session, topic, file, present.at(-1)?.version ?? 0),
  );
  const bad = reports.find(({ report }) => report.verdict !== "compatible");
  const lines = reports.flatMap(({ against, report }) => [
    `Against version ${against}: ${report.verdict} (${report.mode}).`,
    ...report.findings.map(({ path, rule, counterExample }) =>
      counterExample === undefined
        ? `  ${path}: ${rule}`
        : `  ${path}: ${rule}; for example ${JSON.stringify(counterExample)}`,
    ),
  ]);
  session.out.value(
    { topic, reports },
    lines.length === 0 ? `${topic} has no schema to compare with.` : lines.join("\n"),
  );
  if (bad !== undefined)
    throw failure(
      "SCHEMA_INCOMPATIBLE",
      `it is ${bad.report.verdict} with version ${bad.against} of ${topic}`,
    );
}

function registerCommand(): Command {
  const command = newCommand("register", "Registers a version of a topic's schema, if it is compatible.", [
    "promethean schema register orders.placed order-v1.json",
    "promethean schema register orders.placed order-v2.json --dry-run",
  ]).option("--waive <words>", "why it is compatible although that cannot be proven");
  return withConsent(withConnection(withSchemaFlags(command))).action(
    perform<SchemaOptions, [string, string]>(register),
  );
}

async function register(session: Session<SchemaOptions>, topic: string, file: string): Promise<void> {
  if (session.options.dryRun) return check(session, topic, file);
  const backend = await session.connect();
  const { items } = await schemasOf(backend, topic);
  const { topic: _, ...body } = await wanted(session, topic, file, items.at(-1)?.version ?? 0);
  const done = await backend.post<{ version: number; compat: string }>(
    `/schemas/${encodeURIComponent(topic)}`,
    body,
  );
  session.out.value(done, `Version ${done.version} of ${topic} is registered (${done.compat}).`);
}

/** A topic may get its schema before its first event. */
async function schemasOf(backend: Backend, topic: string): Promise<{ items: SchemaEntry[] }> {
  const all = await backend.get<{ items: SchemaEntry[] }>("/schemas");
  return { items: all.items.filter((entry) => entry.topic === topic) };
}

async function wanted({ options }: Session<SchemaOptions>, topic: string, file: string, latest: number) {
  const schema = parseJson(await readText(file), file === "-" ? "the schema" : file) as JsonSchema;
  const { version = latest + 1, compat, waive } = options;
  return { topic, version, schema, compat: compat as Compat, ...(waive !== undefined && { waive }) };
}
