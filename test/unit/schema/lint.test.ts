import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { type LintReport, lintProject } from "../../../src/schema/lint/lint.js";
import { githubAnnotations, reportText } from "../../../src/schema/lint/report-text.js";
import { storeTarget } from "../../../src/schema/lint/targets.js";
import { memoryStore } from "../../../src/stores/memory/index.js";

// The compiler reads the types of all that is imported, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const root = join(repository, "test", "fixtures", "lint");
const NAME =
  'is not a topic name: use lower-case letters, digits and "-" in segments joined by ".", 200 bytes at most';
const HEADER = 'is not "x-" and words of lower-case letters and digits joined by "-"';

/** Everything that is wrong with the fixture, in the order in which it is told. */
const FINDINGS = [
  "src/broken.ts:1:1 schema-load src/broken.ts cannot be loaded: no database here",
  'src/schemas.ts:4:40 event-fails 1 of the newest 2 events of "orders.placed" do not come through; the first is bad at 0:2, without a version: the payload does not fit "orders.placed": payload.order: Invalid input: expected number, received string (it is "one")',
  'src/schemas.ts:9:41 schema-incompatible the schema of "orders.shipped" does not take what was written before: at payload.parcel, the older version allows a number, the newer one only a string',
  'src/schemas.ts:14:27 schema-changed version 1 of "orders.paid" is registered with another schema; a changed schema is a new version',
  'src/schemas.ts:18:10 schema-incompatible version 2 of "orders.refunded" is not backward compatible with version 1: at payload.why, the newer version requires "why", the older one may leave it out; for example {"order":0}',
  'src/schemas.ts:25:10 schema-unknown it cannot be told whether version 2 of "stock.counted" is backward compatible with version 1: at payload, what the newer version takes here cannot be told: a refinement. If it is, say why with "waive"',
  'src/schemas.ts:31:27 schema-order versions of a schema grow: "stock.moved" is at version 3, so 2 comes too late',
  'src/schemas.ts:35:27 event-fails 2 of the newest 3 events of "users.moved" do not come through; the first is old at 0:2, of version 1: "users.moved" has no upcast from version 2 to 3, needed to get from 1 to 3',
  'src/schemas.ts:37:10 upcast-missing "users.moved" has no upcast from version 2 to 3: older events cannot be read',
  'src/shop.ts:15:25 schema-missing "audit.written" has no schema: give its definition one, or register one',
  `src/shop.ts:30:21 topic-name "Orders Placed" ${NAME}`,
  `src/shop.ts:31:23 topic-name "Orders.SHOUTED" ${NAME}`,
  `src/shop.ts:32:23 topic-name "orders. spaced" ${NAME}`,
  'src/shop.ts:33:23 topic-pattern "orders.**x" is not a topic pattern: "*" stands for one segment, "**" for any number',
  `src/shop.ts:34:9 topic-name "orders..twice" ${NAME}`,
  `src/shop.ts:37:73 header-name the header "X-Trace" ${HEADER}`,
  `src/shop.ts:37:89 header-name the header "request" ${HEADER}`,
  'src/shop.ts:38:61 header-value the header x-schema-version is a version, a whole number from 1 on, not "two"',
  "src/shop.ts:39:75 header-reserved the header x-redrive-group is set by the bus alone",
  'src/shop.ts:43:21 schema-missing "billing.closed" has no schema: give its definition one, or register one',
  'src/shop.ts:45:20 schema-missing "orders.emitted" has no schema: give its definition one, or register one',
];

async function storeWithEvents(): Promise<ReturnType<typeof memoryStore>> {
  const store = memoryStore();
  const bus = await createBus({ store });
  const moved = (payload: object, id: string, version?: string): Promise<unknown> =>
    bus.publish("users.moved", payload, { id, ...(version && { headers: { "x-schema-version": version } }) });
  await bus.publish("orders.placed", { order: 1 }, { id: "good" });
  await bus.publish("orders.placed", { order: "one" }, { id: "bad" });
  await moved({ city: "Rome", zip: "1", country: "IT" }, "new", "3");
  await moved({ city: "Oslo" }, "old", "1");
  await moved({ city: "Bern" }, "unversioned");
  await bus.close();
  await store.open();
  return store;
}

describe("the lint of a project with one of each fault", () => {
  let report: LintReport;
  beforeAll(async () => {
    const store = await storeWithEvents();
    report = await lintProject({
      root,
      schemas: ["src/schemas.ts", "src/broken.ts"],
      baseline: "released.json",
      target: storeTarget(store),
    });
    await store.close();
  });

  it("finds each, where it is, and nothing else", () => {
    const told = report.findings.map(
      ({ file, line, column, rule, message }) => `${file}:${line}:${column} ${rule} ${message}`,
    );
    expect(told).toEqual(FINDINGS);
  });

  it("gives programs the counter-example and the event", () => {
    const incompatible = report.findings.find(({ topic }) => topic === "orders.refunded");
    expect(incompatible).toMatchObject({
      version: 2,
      details: { against: 1, findings: [{ path: "payload.why", counterExample: { order: 0 } }] },
    });
    const failing = report.findings.find(({ rule }) => rule === "event-fails");
    expect(failing?.details).toEqual({ id: "bad", partition: 0, seq: 2, failed: 1, of: 2 });
  });

  it("tells which topics it saw, and what it could not look at", () => {
    expect(report.topics).toContainEqual({
      topic: "orders.placed",
      hasSchema: true,
      published: 5,
      subscribed: 0,
    });
    expect(report.topics.map(({ topic }) => topic)).not.toContain("NOT a topic");
    expect(report.unresolved).toEqual([{ file: "src/shop.ts", line: 27, column: 21 }]);
    expect([report.files, report.replayed]).toEqual([4, 5]);
  });

  it("reads well", () => {
    const lines = reportText(report).split("\n");
    expect(lines.slice(0, 3)).toEqual([
      "src/broken.ts",
      "  1:1     schema-load         src/broken.ts cannot be loaded: no database here",
      "",
    ]);
    expect(lines.slice(-3)).toEqual([
      "21 findings in 3 files; 4 sources read, 18 topics, 9 with a schema",
      "1 call with a topic that is made at run time: not looked at",
      "5 stored events tried",
    ]);
  });

  it("annotates lines on GitHub, with what would end a command escaped", () => {
    const [first] = githubAnnotations(report.findings, "shop").split("\n");
    expect(first).toBe(
      "::error file=shop/src/broken.ts,line=1,col=1,title=promethean schema-load::src/broken.ts cannot be loaded: no database here",
    );
    const odd = githubAnnotations([
      { rule: "topic-name", message: "100 %\nbad", file: "a,b:c.ts", line: 1, column: 2 },
    ]);
    expect(odd).toBe("::error file=a%2Cb%3Ac.ts,line=1,col=2,title=promethean topic-name::100 %25%0Abad");
  });
});

describe("the lint of a project in order", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "promethean-lint-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** What another copy of this package would export: told by what it can do. */
  const module = (members: object, required: readonly string[], version: number): string => {
    const schema = { type: "object", properties: members, required, "x-undeclared": "strip" };
    return `
      const versions = [{ version: ${version}, compat: "backward", schema: ${JSON.stringify(schema)} }];
      export const reg = {
        topics: () => ["orders.placed"],
        versions: () => versions,
        current: () => versions[0],
        validate: () => undefined,
      };
    `;
  };
  const lint = (name: string, o: object = {}): Promise<LintReport> =>
    lintProject({ root: folder, schemas: [name], baseline: "schemas.json", ...o });

  it("writes a baseline, holds the next change against it, and writes it on if that may follow", async () => {
    const [order, word] = [{ type: "number" }, { type: "string" }];
    await writeFile(join(folder, "first.ts"), module({ order }, ["order"], 1));
    await writeFile(join(folder, "second.ts"), module({ order, note: word }, ["order"], 2));
    await writeFile(join(folder, "third.ts"), module({ order, mail: word }, ["order", "mail"], 3));
    await expect(lint("first.ts")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await lint("first.ts", { writeBaseline: true })).toMatchObject({
      findings: [],
      written: "schemas.json",
    });
    expect(await lint("second.ts", { writeBaseline: true })).toMatchObject({ findings: [] });
    const text = await readFile(join(folder, "schemas.json"), "utf8");
    expect(JSON.parse(text)).toMatchObject({ topics: { "orders.placed": [{ version: 1 }, { version: 2 }] } });

    const { findings, written } = await lint("third.ts", { writeBaseline: true });
    expect(findings).toMatchObject([{ rule: "schema-incompatible", version: 3 }]);
    expect(written).toBeUndefined();
    expect(await readFile(join(folder, "schemas.json"), "utf8")).toBe(text);
  });

  it("tells of versions that are dates what lies between them, once, unless the later one takes what the earlier one wrote", async () => {
    await writeFile(
      join(folder, "dates.ts"),
      `
      const versions = [20250101, 20250102, 20261118, 888888888, 999999999].map((version) => ({
        version, compat: version === 999999999 ? "backward" : "none", schema: { type: "string" },
      }));
      export const reg = {
        topics: () => ["orders.placed"],
        versions: () => versions,
        current: () => versions[0],
        validate: () => undefined,
      };
      const steps = [20250101, 20250104];
      export const upcasts = {
        upcast: () => undefined,
        missing: (_, from, to) => Array.from({ length: to - from }, (_, i) => from + i).filter((v) => !steps.includes(v)),
      };
    `,
    );
    const { findings } = await lint("dates.ts", { writeBaseline: true, baseline: "dates.json" });
    const told = (from: number, to: number): object => ({
      rule: "upcast-missing",
      version: from,
      message: `"orders.placed" has no upcasts from version ${from} to ${to}: older events cannot be read`,
    });
    expect(findings).toMatchObject([
      told(20250102, 20250104),
      told(20250105, 20261118),
      told(20261118, 888888888),
    ]);
  });

  it("says so if the baseline is none, or the module or the folder is not there", async () => {
    await writeFile(join(folder, "other.json"), "[]");
    const codes = [
      lint("first.ts", { baseline: "other.json" }),
      lint("absent.ts", { writeBaseline: true }),
      lintProject({ root: join(folder, "absent") }),
    ].map((work) => work.catch(({ code }: { code: string }) => code));
    expect(await Promise.all(codes)).toEqual(["INVALID_OPTION", "NOT_FOUND", "NOT_FOUND"]);
  });
});

describe("a project whose TypeScript has no compiler API", () => {
  it("is told what to install", async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-lint-"));
    const native = join(folder, "node_modules", "typescript");
    await mkdir(native, { recursive: true });
    await writeFile(join(native, "package.json"), '{ "name": "typescript", "main": "index.cjs" }');
    await writeFile(join(native, "index.cjs"), 'module.exports = { version: "7.0.0" };');
    await expect(lintProject({ root: folder })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("npm install --save-dev typescript@6"),
    });
    await rm(folder, { recursive: true, force: true });
  });
});

describe("this repository's own examples", () => {
  const examples = join(repository, "examples");
  const programs = existsSync(examples)
    ? readdirSync(examples, { recursive: true }).filter((name) => String(name).endsWith(".ts"))
    : [];

  it("are without a finding", async () => {
    const findings = programs.length === 0 ? [] : (await lintProject({ root: examples })).findings;
    expect(findings).toEqual([]);
  });
});
