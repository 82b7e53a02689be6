/**
 * Which folder of src/ may import which, and which packages belong to one folder alone.
 *
 *   model <- ports <- {publish, consume, project, schema} <- bus <- {hub, cli}
 *
 * - The four siblings never import each other; they meet in bus.
 * - stores and testing know only model and ports; one driver never imports another. testing/simulator runs the
 *   real bus in one process, so it alone may also import bus, consume, project and the memory store.
 * - client knows model and what both ends of the wire share (hub/protocol, hub/message-bytes); console knows only client.
 * - cli starts everything, so it may also import hub, client, stores and the package's entry point.
 * - Files directly in src/ compose the package: anything but hub, cli and console.
 * - Tests (*.test.ts) are not shipped and may import what they need; nothing imports a test.
 * - Folders that lie side by side inside one of these import each other one way, too: none leads back to itself.
 *
 * Pure: takes the text of the files, gives back the violations.
 */
import { basename, dirname, join } from "node:path/posix";
import ts from "typescript";

/** A path below src/, such as "consume/delivery.ts", and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

interface Import {
  readonly specifier: string;
  readonly line: number;
}

const SIBLINGS = ["publish", "consume", "project", "schema"];
const BUS_AND_BELOW = ["model", "ports", ...SIBLINGS, "bus"];
const COMPOSITION = "src";

/** Folder → what it may import besides itself. An entry may name a subfolder or file ("hub/protocol"). */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  model: [],
  ports: ["model"],
  ...Object.fromEntries(SIBLINGS.map((name) => [name, ["model", "ports"]])),
  bus: BUS_AND_BELOW,
  hub: BUS_AND_BELOW,
  cli: [...BUS_AND_BELOW, "hub", "client", "stores", COMPOSITION],
  stores: ["model", "ports"],
  testing: ["model", "ports"],
  "testing/simulator": ["model", "ports", "testing", "bus", "consume", "project", "stores/memory"],
  client: ["model", "hub/protocol", "hub/message-bytes"],
  console: ["client"],
  [COMPOSITION]: [...BUS_AND_BELOW, "stores", "testing", "client"],
};

/** Packages with a home: path prefixes below src/ that may import them. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  mongodb: ["stores/mongo/", "project/changefeed"],
  libsql: ["stores/embedded/"],
  vitest: ["testing/"],
};

/** Every broken rule, as `src/file.ts:line message`. */
export function importViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap(({ specifier, line }) => {
      const broken = brokenRule(file.path, specifier);
      return broken === undefined ? [] : [`src/${file.path}:${line} ${broken}`];
    }),
  );
}

/** Imports between folders side by side that lead back to where they begin, as `src/project: views imports letters`. */
export function folderCircles(files: readonly SourceFile[]): string[] {
  const steps = new Map<string, Set<string>>();
  for (const file of files.filter(({ path }) => !/\.test\.tsx?$/.test(path))) {
    for (const { specifier } of importsOf(file)) {
      if (!specifier.startsWith(".")) continue;
      const [from, to] = apart(file.path, join(dirname(file.path), specifier));
      if (from !== undefined && to !== undefined) steps.set(from, (steps.get(from) ?? new Set()).add(to));
    }
  }
  const circles: string[] = [];
  for (const [from, targets] of steps)
    for (const to of targets)
      if (leadsTo(steps, to, from))
        circles.push(`src/${dirname(from)}: ${basename(from)} imports ${basename(to)}`);
  return circles.sort();
}

/** The folders in which two paths part, if both are in one by then: `a/b/x` and `a/c/d/y` part in `a/b` and `a/c`. */
function apart(one: string, other: string): [string | undefined, string | undefined] {
  const [a, b] = [one.split("/"), other.split("/")];
  let same = 0;
  while (a[same] === b[same]) same++;
  const folder = (parts: string[]): string | undefined =>
    same > 0 && parts.length > same + 1 ? parts.slice(0, same + 1).join("/") : undefined;
  return [folder(a), folder(b)];
}

function leadsTo(steps: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const at of seen) for (const next of steps.get(at) ?? []) seen.add(next);
  return seen.has(to);
}

function brokenRule(from: string, specifier: string): string | undefined {
  const isTest = from.endsWith(".test.ts");
  if (!specifier.startsWith(".")) return isTest ? undefined : brokenPackageRule(from, specifier);
  const target = join(dirname(from), specifier);
  if (target.endsWith(".test.js")) return `imports the test ${specifier}`;
  if (isTest) return undefined;
  if (target.startsWith("..")) return `imports ${specifier}, which lies outside src`;
  return brokenFolderRule(from, target);
}

function brokenPackageRule(from: string, specifier: string): string | undefined {
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  if (name === "promethean") return "imports the package by its own name; use a relative path";
  const homes = HOMES[name];
  if (homes === undefined || homes.some((home) => from.startsWith(home))) return undefined;
  return `imports the package "${name}", which belongs to ${homes.join(" and ")}`;
}

function brokenFolderRule(from: string, target: string): string | undefined {
  const [fromFolder, targetFolder] = [ruledFolderOf(from), folderOf(target)];
  const allowed = ALLOWED[fromFolder];
  if (allowed === undefined) return `lies in "${fromFolder}", a folder without an import rule`;
  if (folderOf(from) === "stores" && targetFolder === "stores") return brokenDriverRule(from, target);
  if (isInside(target, fromFolder) || allowed.some((name) => isInside(target, name))) return undefined;
  return `imports ${targetFolder} (${target}), but ${fromFolder} may import only ${allowed.join(", ") || "itself"}`;
}

/** Drivers are independent; what they share lies directly in stores/. */
function brokenDriverRule(from: string, target: string): string | undefined {
  const [own, other] = [driverOf(from), driverOf(target)];
  return other === undefined || own === other
    ? undefined
    : `imports the driver ${other} from ${own ?? "stores"}`;
}

function driverOf(path: string): string | undefined {
  const [, driver, ...rest] = path.split("/");
  return rest.length > 0 ? driver : undefined;
}

function folderOf(path: string): string {
  return path.includes("/") ? (path.split("/")[0] ?? COMPOSITION) : COMPOSITION;
}

function ruledFolderOf(path: string): string {
  const subfolder = path.split("/").slice(0, 2).join("/");
  return subfolder !== path && subfolder in ALLOWED ? subfolder : folderOf(path);
}

/** "hub/protocol" covers the file hub/protocol.js and the folder hub/protocol/. */
function isInside(path: string, name: string): boolean {
  if (name === COMPOSITION) return folderOf(path) === COMPOSITION;
  return path === `${name}.js` || path.startsWith(`${name}/`);
}

/** What may stand elsewhere than at the top of a file; where there is no sign of it, only the top is looked at. */
const DEEPER = /\b(?:import|require)\b[^"';]*\(|\bdeclare\s+module\b/;

/** Of files that were read before: both rules ask. */
const read = new WeakMap<SourceFile, readonly Import[]>();

function importsOf(file: SourceFile): readonly Import[] {
  let imports = read.get(file);
  if (imports === undefined) {
    imports = importsIn(file);
    read.set(file, imports);
  }
  return imports;
}

function importsIn({ path, text }: SourceFile): Import[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const isDeeper = DEEPER.test(text);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node);
    if (specifier !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(specifier.getStart(source));
      found.push({ specifier: specifier.text, line: line + 1 });
    }
    if (isDeeper || !ts.isStatement(node)) ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Static imports and re-exports, `import("x")` as a call and as a type, `require("x")`. */
function specifierOf(node: ts.Node): ts.StringLiteralLike | undefined {
  let specifier: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) specifier = node.moduleSpecifier;
  else if (ts.isExternalModuleReference(node)) specifier = node.expression;
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    specifier = node.argument.literal;
  else if (ts.isCallExpression(node) && isImportCall(node)) specifier = node.arguments[0];
  return specifier !== undefined && ts.isStringLiteralLike(specifier) ? specifier : undefined;
}

function isImportCall({ expression }: ts.CallExpression): boolean {
  return (
    expression.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(expression) && expression.text === "require")
  );
}
