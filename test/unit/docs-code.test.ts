/**
 * The TypeScript in README.md and docs/ means what the library offers: names that exist, arguments of the right types,
 * under the strictest options. A block imports what it uses, so that it can be pasted; only what it leaves to the reader's
 * own program is declared here.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { beforeAll, describe, expect, it } from "vitest";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const ENTRIES: Readonly<Record<string, string>> = {
  promethean: "src/index.ts",
  "promethean/hub": "src/hub/index.ts",
  "promethean/client": "src/client/index.ts",
  "promethean/testing": "src/testing/index.ts",
  "promethean/testing/conformance": "src/testing/conformance/index.ts",
  "promethean/stores/embedded": "src/stores/embedded/index.ts",
  "promethean/stores/mongo": "src/mongo.ts",
};
/** What blocks that show a step leave to the program around them. */
const AROUND: Readonly<Record<string, string>> = {
  bus: 'declare const bus: import("promethean").Bus;',
  store: 'declare const store: import("promethean").Store;',
  schemas: 'declare const schemas: Awaited<ReturnType<typeof import("promethean").openSchemas>>;',
  upcasts: 'declare const upcasts: import("promethean").UpcastChain;',
  client: 'declare const client: import("mongodb").MongoClient;',
  orders: 'declare const orders: import("mongodb").Collection<{ id: string; customer: string }>;',
  outbox: 'declare const outbox: import("promethean/stores/mongo").MongoOutbox;',
  db: 'declare const db: import("libsql").Database;',
  Placed: 'declare const Placed: import("promethean").TopicDefinition<{ id: string; customer: string }>;',
  order: "declare const order: { id: string; customer: string };",
  handler: "declare const handler: () => Promise<void>;",
  handle: "declare const handle: () => Promise<void>;",
  filter: "declare const filter: () => boolean;",
  map: "declare const map: (event: { payload: unknown }) => { payload: unknown };",
  ids: "declare const ids: string[];",
  topic: 'declare const topic: "orders.placed";',
  ts: "declare const ts: number;",
  noon: "declare const noon: number;",
  OrderPlacedV2: 'declare const OrderPlacedV2: import("zod").ZodObject;',
};
/** Of the reader's own. */
const OWN_FILES = new Map([
  [join(ROOT, "docs/my-store.ts"), 'export declare function myStore(): import("promethean").Store;'],
]);
const UNKNOWN_NAME = new Set([2304, 2552, 18004]);

interface Block {
  /** Where it stands. */
  readonly place: string;
  /** As a file beside the documents. */
  readonly path: string;
  readonly text: string;
}

function blocks(): Block[] {
  const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" });
  const files = [
    "README.md",
    ...docs.filter((name) => name.endsWith(".md")).map((name) => join("docs", name)),
  ];
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), "utf8");
    return [...text.matchAll(/^( *)```ts\n(.*?)^ *```$/gms)].map((match) => {
      const line = text.slice(0, match.index).split("\n").length;
      return {
        place: `${file}:${line}`,
        path: join(ROOT, `${file}.${line}.ts`),
        text: match[2] as string,
      };
    });
  });
}

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.es2024.string.d.ts"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: true,
  paths: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, [join(ROOT, file)]])),
};

/** A program of files that are not there, beside those that are. */
function programOf(files: ReadonlyMap<string, string>, before?: ts.Program): ts.Program {
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (name) => files.has(name) || fileExists.call(host, name);
  host.readFile = (name) => files.get(name) ?? readFile.call(host, name);
  host.getSourceFile = (name, target, ...rest) => {
    const text = files.get(name);
    if (text !== undefined) return ts.createSourceFile(name, text, target);
    return before?.getSourceFile(name) ?? getSourceFile.call(host, name, target, ...rest);
  };
  const entries = Object.values(ENTRIES).map((file) => join(ROOT, file));
  return ts.createProgram([...files.keys(), ...entries], OPTIONS, host, before);
}

function problemsOf(program: ts.Program, path: string): readonly ts.Diagnostic[] {
  const source = program.getSourceFile(path);
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
}

function messageOf({ messageText }: ts.Diagnostic): string {
  return ts.flattenDiagnosticMessageText(messageText, "\n");
}

/** What the program around a block declares. */
function preludeOf(problems: readonly ts.Diagnostic[]): string {
  const unknown = problems.filter(({ code }) => UNKNOWN_NAME.has(code));
  const names = new Set(unknown.map((one) => /'([^']+)'/.exec(messageOf(one))?.[1] as string));
  return [...names].map((name) => AROUND[name] ?? "").join(" ");
}

describe("the code in the documents", () => {
  const all = blocks();
  let program: ts.Program;

  beforeAll(() => {
    const bare = programOf(
      new Map([
        ...OWN_FILES,
        ...all.map(({ path, text }): [string, string] => [path, `export {};\n${text}`]),
      ]),
    );
    const complete = all.map(({ path, text }): [string, string] => [
      path,
      `export {}; ${preludeOf(problemsOf(bare, path))}\n${text}`,
    ]);
    program = programOf(new Map([...OWN_FILES, ...complete]), bare);
  }, 120_000);

  it("is found", () => {
    expect(all.length).toBeGreaterThan(20);
  });

  it.each(all.map(({ place, path }) => [place, path]))(
    "%s has the names and types of the library",
    (_, path) => {
      const problems = problemsOf(program, path).map((one) => {
        const { line } = one.file?.getLineAndCharacterOfPosition(one.start ?? 0) ?? { line: 0 };
        return `${relative(ROOT, path)} line ${line} of the block: ${messageOf(one)}`;
      });
      expect(problems).toEqual([]);
    },
  );
});
