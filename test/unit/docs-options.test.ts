/** docs/bus.md has every option of a bus, a topic, a publish and a subscription, and no others. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
const sections = new Map(
  read("docs/bus.md")
    .split(/^## /m)
    .map((text) => [text.slice(0, text.indexOf("\n")), text]),
);

/** The members of an interface, by its source. */
function membersOf(path: string, name: string): string[] {
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.ES2022);
  const found = source.statements.find((one) => ts.isInterfaceDeclaration(one) && one.name.text === name);
  return (found as ts.InterfaceDeclaration).members.map((member) => (member.name as ts.Identifier).text);
}

const namesIn = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name as string);

it.each([
  ["The bus", "BusOptions", "src/bus/options.ts"],
  ["Topics", "TopicOptions", "src/model/topic.ts"],
  ["Publishing", "PublishOptions", "src/model/event-bus.ts"],
  ["Subscribing", "SubscribeOptions", "src/model/event-bus.ts"],
])("%s: has the members of %s, and no others", (heading, name, path) => {
  const text = sections.get(heading) ?? "";
  const members = membersOf(path, name);
  expect(members.length).toBeGreaterThan(7);
  expect(members.filter((member) => !namesIn(text).includes(member))).toEqual([]);
  const table = text.split("\n### ")[0]?.match(/^\| option [\s\S]+?\n\n/m)?.[0] ?? "";
  const options = [...table.matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell]) => namesIn(cell as string));
  expect(options.filter((option) => !members.includes(option))).toEqual([]);
  expect(options.length).toBeGreaterThan(7);
});
