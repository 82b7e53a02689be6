/** The tables of options in the documents have every option that there is, and no others. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

/** What stands under a heading of a document. */
function section(page: string, heading: string): string {
  const parts = read(page).split(/^#+ /m);
  return parts.find((part) => part.startsWith(`${heading}\n`)) ?? "";
}

/** The members of an interface, by its source; those that it inherits are elsewhere. */
function membersOf(path: string, name: string): string[] {
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.ES2022);
  const found = source.statements.find((one) => ts.isInterfaceDeclaration(one) && one.name.text === name);
  return (found as ts.InterfaceDeclaration).members.map((member) => (member.name as ts.Identifier).text);
}

/** What the first column of a section's table of options names. */
function optionsOf(page: string, heading: string): string[] {
  const table = /^\| option [\s\S]+?\n\n/m.exec(section(page, heading))?.[0] ?? "";
  return [...table.matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell = ""]) => namesIn(cell));
}

const namesIn = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name as string);

const TABLES = [
  ["docs/bus.md", "The bus", "BusOptions", "src/bus/options.ts"],
  ["docs/bus.md", "Topics", "TopicOptions", "src/model/topic.ts"],
  ["docs/bus.md", "Publishing", "PublishOptions", "src/model/event-bus.ts"],
  ["docs/bus.md", "Subscribing", "SubscribeOptions", "src/model/event-bus.ts"],
  ["docs/client.md", "The client, in programs and in pages", "ClientOptions", "src/client/client-options.ts"],
  ["docs/operations.md", "In a program", "HubOptions", "src/hub/server.ts"],
  ["docs/processing.md", "By changelog", "ChangelogOptions", "src/project/views/changelog.ts"],
  ["docs/processing.md", "Change feeds", "ChangefeedOptions", "src/project/changefeed/changefeed-options.ts"],
  [
    "docs/schemas.md",
    "A payload that does not fit",
    "ValidationOptions",
    "src/schema/registry/validation-layer.ts",
  ],
  ["docs/security.md", "Who gets in", "JwtOptions", "src/hub/auth/auth.ts"],
  ["docs/stores/embedded.md", "The embedded store", "EmbeddedStoreOptions", "src/stores/embedded/store.ts"],
] as const;
const IN_WORDS = [
  ["docs/processing.md", "By transaction", "TransactionalOptions", "src/project/views/transactional.ts"],
  ["docs/processing.md", "Outbox", "OutboxDrainerOptions", "src/project/outbox-drainer.ts"],
] as const;

it.each([...TABLES, ...IN_WORDS])("%s, %s: has the members of %s", (page, heading, name, path) => {
  const members = membersOf(path, name);
  expect(members.length).toBeGreaterThan(5);
  const named = namesIn(section(page, heading));
  expect(members.filter((member) => !named.includes(member))).toEqual([]);
});

it.each(TABLES)("%s, %s: has no others than the members of %s", (page, heading, name, path) => {
  const options = optionsOf(page, heading);
  expect(options.length).toBeGreaterThan(5);
  const members = membersOf(path, name);
  expect(options.filter((option) => !members.includes(option))).toEqual([]);
});

it("docs/stores/mongo.md has the options of a connection and the store's own, and no others", () => {
  const own = membersOf("src/stores/mongo/store.ts", "MongoStoreOptions");
  const members = [...own, ...membersOf("src/stores/mongo/connection/connection.ts", "ConnectionOptions")];
  expect(optionsOf("docs/stores/mongo.md", "The MongoDB store").sort()).toEqual(members.sort());
});
