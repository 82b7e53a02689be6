/**
 * Ties docs/DELIVERY.md to the tests: every promise (a heading such as `### P6 Exact ack`) lists the tests whose
 * title names it (`P6: …`, `P4, P7: …`). The conformance suite that drivers run counts as tests.
 *
 *   node scripts/promise-table.mjs            prints promises without a test, and titles that name no promise of the page
 *   node scripts/promise-table.mjs --write    also rewrites the list at the end of the page
 *   node scripts/promise-table.mjs --check    fails when the list is stale, or a promise has no test
 *
 * A heading that ends in `(planned)` is a promise not kept yet: it needs no test, and --write takes the mark away
 * with the first one.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pagePath = join(root, "docs", "DELIVERY.md");
const START = "<!-- tests: made by `npm run docs:promises` -->";
const END = "<!-- tests: end -->";
const TITLE = /^(P\d+(?:(?:, | and |\/)P\d+)*): /;
const HEADING = /^### (P\d+) (.+?)( \(planned\))?$/gm;

const page = readFileSync(pagePath, "utf8");
const promises = [...page.matchAll(HEADING)].map(([, id, name, planned]) => ({
  id,
  name,
  planned: Boolean(planned),
}));
const inOrder = promises.toSorted((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)));
const tests = testFiles().flatMap((path) => titlesIn(path));
const faults = [...untested(), ...unknown()];
for (const fault of faults) console.error(`docs/DELIVERY.md: ${fault}`);

const fresh = withTests(withoutKeptMarks(page));
if (process.argv.includes("--write")) writeFileSync(pagePath, fresh);
if (process.argv.includes("--check")) {
  if (fresh !== page)
    console.error("docs/DELIVERY.md: the list of tests is stale; run `npm run docs:promises`");
  process.exitCode = fresh !== page || faults.length > 0 ? 1 : 0;
}

function testFiles() {
  return ["src", "test"]
    .map((name) => join(root, name))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, "/")),
    )
    .filter((path) => path.endsWith(".test.ts") || path.startsWith("src/testing/conformance/"))
    .sort();
}

/** Titles are the first argument of a call, whatever its name: `it(…)`, `it.each(…)(…)`, a suite's own wrapper. */
function titlesIn(path) {
  const source = ts.createSourceFile(path, readFileSync(join(root, path), "utf8"), ts.ScriptTarget.Latest);
  const found = [];
  const visit = (node) => {
    const title = ts.isCallExpression(node) ? textOf(node.arguments[0]) : undefined;
    const named = title === undefined ? null : TITLE.exec(title);
    if (named) found.push({ ids: named[1].split(/, | and |\//), title, path });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function textOf(node) {
  if (node === undefined) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join("");
}

function testsOf(id) {
  return tests.filter((test) => test.ids.includes(id));
}

function untested() {
  return inOrder
    .filter(({ id, planned }) => !planned && testsOf(id).length === 0)
    .map(({ id, name }) => `${id} (${name}) has no test that names it`);
}

function unknown() {
  return tests.flatMap(({ ids, title, path }) =>
    ids
      .filter((id) => !promises.some((promise) => promise.id === id))
      .map((id) => `${path} names ${id}, which is no promise: "${title}"`),
  );
}

function withoutKeptMarks(text) {
  return text.replace(HEADING, (line, id, name) => (testsOf(id).length > 0 ? `### ${id} ${name}` : line));
}

function withTests(text) {
  const [start, end] = [text.indexOf(START), text.indexOf(END)];
  if (start < 0 || end < start) throw new Error(`docs/DELIVERY.md lacks the lines ${START} and ${END}`);
  return `${text.slice(0, start)}${START}\n${inOrder.map(section).join("\n")}${text.slice(end)}`;
}

function section({ id, name }) {
  const lines = [...byPath(testsOf(id))].map(
    ([path, found]) =>
      `- \`${path}\`\n${[...new Set(found.map((test) => test.title))].map((title) => `  - ${asPlainText(title)}\n`).join("")}`,
  );
  return `**${id} ${name}**\n\n${lines.join("") || "- no test yet\n"}`;
}

function byPath(found) {
  const groups = new Map();
  for (const test of found) groups.set(test.path, [...(groups.get(test.path) ?? []), test]);
  return groups;
}

/** Titles hold `*` and `<topic>`, which Markdown would take for its own. */
function asPlainText(title) {
  return title.replace(/[*_<>`]/g, "\\$&");
}
