/** What the compiler says of likely mistakes: one message, at the place of the mistake, that names it. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { beforeAll, expect, it } from "vitest";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const FILE = join(ROOT, "test", "unit", "mistakes.ts");
const PREAMBLE = `
import { type Bus, defineTopic } from "../../src/index.js";
declare const bus: Bus;
const A = defineTopic<{ a: number }>("a");
const B = defineTopic<{ b: number }>("b");
export {};
`;

/** By the mistake: what is said of it. */
const MISTAKES: readonly (readonly [string, RegExp])[] = [
  [
    `bus.subscribe("a", "g", () => 0, { maxAttemps: 3 });`,
    /'maxAttemps'.* Did you mean to write 'maxAttempts'/,
  ],
  [
    `bus.subscribe(A, "g", () => 0, { from: "start" });`,
    /^Type '"start"' is not assignable to type '.*"earliest"/,
  ],
  [`bus.subscribe([A, B], "g", () => 0, { maxAttemps: 3 });`, /'maxAttemps'.* Did you mean/],
  [
    `bus.subscribeBatch(A, "g", () => 0, { batchsize: 3 });`,
    /'batchsize'.* Did you mean to write 'batchSize'/,
  ],
  [
    `bus.subscribe(A, 7, () => 0);`,
    /^Argument of type 'number' is not assignable to parameter of type 'string'/,
  ],
  [
    `bus.subscribe(A, "g", (event) => event.payload.b);`,
    /^Property 'b' does not exist on type '{ a: number; }'/,
  ],
  [`bus.subscribe(A, () => 0);`, /^Expected 3-4 arguments, but got 2/],
  [`bus.publish(A, { b: 1 });`, /'b' does not exist in type '{ a: number; }'/],
  [`bus.view<{ cpu: number }>("v").find({ where: { cpus: 1 } });`, /'cpus'.* Did you mean to write 'cpu'/],
];

const said = new Map<number, string[]>();

beforeAll(() => {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost({ ...options, incremental: false });
  const { readFile, fileExists, getSourceFile } = host;
  const text = `${PREAMBLE}${MISTAKES.map(([mistake]) => mistake).join("\n")}\n`;
  host.fileExists = (path) => path === FILE || fileExists(path);
  host.readFile = (path) => (path === FILE ? text : readFile(path));
  host.getSourceFile = (path, version, ...more) =>
    path === FILE ? ts.createSourceFile(path, text, version) : getSourceFile(path, version, ...more);
  const program = ts.createProgram([FILE], { ...options, incremental: false, noEmit: true }, host);
  const source = program.getSourceFile(FILE) as ts.SourceFile;
  const first = PREAMBLE.split("\n").length - 1;
  for (const { start = 0, messageText } of program.getSemanticDiagnostics(source)) {
    const mistake = source.getLineAndCharacterOfPosition(start).line - first;
    const told = ts.flattenDiagnosticMessageText(messageText, " ");
    said.set(mistake, [...(said.get(mistake) ?? []), told]);
  }
}, 120_000);

it.each(MISTAKES.map(([mistake, message], index) => [mistake, message, index] as const))(
  "%s",
  (_mistake, message, index) => {
    expect(said.get(index)).toEqual([expect.stringMatching(message)]);
  },
);
