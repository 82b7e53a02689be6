/** A hub with a little of everything on it, and a folder with the files that examples name. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { createBus } from "../../src/bus/create-bus.js";
import { Fatal } from "../../src/model/errors.js";
import { deadLetters } from "../../src/project/letters/dead-letters.js";
import { startChangelogProjector } from "../../src/project/views/changelog.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { type Ended, ensureBuilt, makeBin, run, shell } from "./cli.js";
import { eventually } from "./eventually.js";
import { type HubFixture, hubFixture } from "./hub-fixture.js";

export const SECRET = "a secret of more than thirty-two bytes";

export interface Scene {
  readonly folder: string;
  /** Holds `promethean`. */
  readonly bin: string;
  readonly env: Readonly<Record<string, string>>;
  readonly fixture: HubFixture;
  /** A dead letter of orders.placed. */
  letter(): Promise<string>;
  close(): Promise<void>;
}

export async function cliScene(): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), "promethean-cli-"));
  const fixture = await hubFixture({ tokens: { reader: ["read:orders.**"] } });
  await placeOrders(fixture);
  await writeFiles(folder);
  const { bus, hub } = fixture;
  const letter = async (): Promise<string> => {
    for await (const { id } of deadLetters(bus, "orders.placed", { status: "any" })) return id;
    throw new Error("there is no dead letter");
  };
  return {
    folder,
    bin: makeBin(join(folder, "bin")),
    env: {
      PROMETHEAN_URL: hub.url,
      PROMETHEAN_TOKEN: "all",
      PROMETHEAN_PORT: "0",
      PROMETHEAN_CONTEXTS: join(folder, "contexts.json"),
    },
    fixture,
    letter,
    close: async () => {
      await fixture.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface SceneOfFile {
  scene(): Scene;
  cli(...args: string[]): Promise<Ended>;
  /** What it answers with `--json`, and nothing else. */
  json(...args: string[]): Promise<unknown>;
  /** A line as one would type it. */
  sh(line: string): Promise<Ended>;
}

/** One scene for all tests of a file, and the command line in it. */
export function sceneOfFile(): SceneOfFile {
  let scene: Scene;
  beforeAll(async () => {
    ensureBuilt();
    scene = await cliScene();
  });
  afterAll(() => scene.close());
  const cli = (...args: string[]): Promise<Ended> => run(args, { env: scene.env, cwd: scene.folder });
  return {
    scene: () => scene,
    cli,
    json: async (...args) => {
      const { code, out, err } = await cli(...args, "--json");
      expect({ code, err }).toEqual({ code: 0, err: "" });
      return JSON.parse(out) as unknown;
    },
    sh: (line) => shell(line, { env: scene.env, cwd: scene.folder, bin: scene.bin }).ended,
  };
}

/**
 * Orders of two customers; the group "mailer" gives up number 13, and the view "totals" has the newest of each. Nobody needs the
 * group "old-mailer", the view "old-totals" and the topic "orders.old" any more.
 */
async function placeOrders({ bus }: HubFixture): Promise<void> {
  await bus.defineTopic({ name: "orders.placed", partitions: 1, keyed: true });
  await startChangelogProjector(bus, { topic: "orders.placed", view: "totals" });
  const stop = await bus.subscribe(
    "orders.placed",
    "mailer",
    ({ payload }) => {
      if ((payload as { order: number }).order === 13) throw new Fatal("no such customer");
    },
    { from: "earliest" },
  );
  await bus.publish("orders.placed", { order: 7 }, { key: "customer-42" });
  for (const order of [12, 13, 14])
    await bus.publish("orders.placed", { order }, { key: `customer-${order}` });
  const settled = async (group: string): Promise<boolean> =>
    (await bus.admin.lag({ topic: "orders.placed", group })).every(({ lag }) => lag === 0);
  await eventually(
    async () => (await settled("mailer")) && (await settled("changelog:totals")),
    "orders settled",
  );
  await stop();
  await bus.store.groups.start({ topic: "orders.placed", group: "old-mailer" }, [4]);
  const old = await startChangelogProjector(bus, { topic: "orders.placed", view: "old-totals" });
  await eventually(() => settled("changelog:old-totals"), "the old view filled");
  await old.stop();
  await bus.publish("orders.old", { order: 1 });
}

async function writeFiles(folder: string): Promise<void> {
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const schema = (required: string[]): string =>
    JSON.stringify({
      type: "object",
      properties: { order: { type: "number" }, note: { type: "string" } },
      required,
      additionalProperties: false,
    });
  write("jwt-secret", `${SECRET}\n`);
  write("admin-token", "0123456789abcdef\n");
  write("hub.yaml", "store: served.db\nport: 0\nauth:\n  jwt:\n    secretFile: jwt-secret\n");
  write("order-v1.json", schema(["order"]));
  write("order-v2.json", schema([]));
  write("orders.ndjson", `${JSON.stringify({ id: "order-1", payload: { order: 1 } })}\n`);
  const bus = await createBus({ store: embeddedStore({ path: join(folder, "bus.db") }) });
  await bus.defineTopic({ name: "process.state", compaction: true });
  for (const n of [1, 2, 3]) await bus.publish("process.state", { n }, { key: "a" });
  await bus.close();
}
