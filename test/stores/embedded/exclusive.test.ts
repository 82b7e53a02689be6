import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compileProgram } from "../../../scripts/embedded-sources.mjs";
import { createBus } from "../../../src/bus/create-bus.js";
import { type EmbeddedStore, embeddedStore } from "../../../src/stores/embedded/index.js";
import { Connection } from "../../../src/stores/embedded/sqlite.js";

describe("a store that one process has for itself", () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "promethean-exclusive-"));
    path = join(folder, "bus.db");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function opened(exclusive: boolean, at = path): Promise<EmbeddedStore> {
    const store = embeddedStore({ path: at, exclusive, busyTimeoutMs: 50 });
    await store.open();
    return store;
  }

  it("others are told so, in words, and get it once it is closed", async () => {
    const alone = await opened(true);
    for (const exclusive of [true, false])
      await expect(opened(exclusive)).rejects.toMatchObject({
        code: "STORE_LOCKED",
        message: expect.stringMatching(/bus\.db is open elsewhere.*`exclusive`/),
      });
    await alone.close();
    const [one, another] = [await opened(false), await opened(false)];
    await expect(opened(true)).rejects.toMatchObject({ code: "STORE_LOCKED" });
    await one.close();
    await another.close();
    await (await opened(true)).close();
  });

  /** Paths that all lead to the store's file, whether it is there or not. */
  async function linksToIt(): Promise<string[]> {
    const other = join(folder, "deep", "other");
    await mkdir(other, { recursive: true });
    await symlink(path, join(other, "absolute.db"));
    await symlink("../../bus.db", join(other, "relative.db"));
    await symlink("relative.db", join(other, "chained.db"));
    // From a folder that is itself a link, a relative one leads to another place than its name says.
    await symlink(other, join(folder, "linked"));
    return [
      ...["absolute.db", "relative.db", "chained.db"].map((name) => join(other, name)),
      join(folder, "linked", "relative.db"),
    ];
  }

  it("P2: it is the same store by whichever link it is opened", async () => {
    for (const link of await linksToIt()) {
      const alone = await opened(true, link);
      for (const [at, exclusive] of [
        [path, true],
        [path, false],
        [link, true],
      ] as const)
        await expect(opened(exclusive, at)).rejects.toMatchObject({ code: "STORE_LOCKED" });
      expect(existsSync(`${path}-ahead`)).toBe(true);
      expect(existsSync(`${link}-ahead`)).toBe(false);
      await alone.close();
    }
  });

  it("P1: what went ahead of a store that was opened by a link is found by its own path", async () => {
    const [link = ""] = await linksToIt();
    const store = await opened(true, link);
    const bus = await createBus({ store, topics: [{ name: "t", partitions: 1 }] });
    for (let n = 1; n <= 20; n++) await bus.publish("t", { n });
    // As a process that is killed now leaves it.
    const killed = join(folder, "killed.db");
    for (const suffix of ["", "-wal", "-ahead"]) await copyFile(path + suffix, killed + suffix);
    const next = await opened(false, killed);
    expect((await next.log.heads("t"))[0]?.head).toBe(20);
    await next.close();
    await bus.close();
    await store.close();
  });

  it("P14: a file ahead that is missing after a crash is told of, once; one that nobody misses is not", async () => {
    const store = await opened(true);
    const bus = await createBus({ store, topics: [{ name: "t", partitions: 1 }] });
    for (let n = 1; n <= 20; n++) await bus.publish("t", { n });
    const names = ["whole", "without", "copy"].map((name) => join(folder, `${name}.db`));
    const [whole = "", without = "", copy = ""] = names;
    for (const suffix of ["", "-wal", "-ahead"]) await copyFile(path + suffix, whole + suffix);
    for (const suffix of ["", "-wal"]) await copyFile(path + suffix, without + suffix);
    await store.backup(copy);
    await bus.close();
    await store.close();
    const warningsOf = async (at: string, exclusive: boolean): Promise<string[]> => {
      const warnings: string[] = [];
      const one = embeddedStore({ path: at, exclusive, onWarning: (message) => warnings.push(message) });
      await one.open();
      await one.close();
      return warnings;
    };
    expect(await warningsOf(without, false)).toEqual([
      expect.stringContaining("without.db-ahead is missing"),
    ]);
    for (const at of [path, ...names])
      for (const exclusive of [false, true, false]) expect(await warningsOf(at, exclusive), at).toEqual([]);
    // Builds before these left a mark behind when they closed, and no file.
    const early = new Connection(path, { busyTimeoutMs: 1_000 });
    early.exec("UPDATE ahead SET salt = 7");
    early.close();
    expect(await warningsOf(path, false)).toEqual([]);
  });

  it("P1, P2: what was published is read at once, by every way of reading; nothing is left ahead of a store that is closed", async () => {
    const store = await opened(true);
    const bus = await createBus({ store, topics: [{ name: "t", partitions: 1 }] });
    for (let n = 1; n <= 50; n++) {
      const { id, seq } = await bus.publish("t", { n }, { key: "k" });
      expect(seq).toBe(n);
      const ways = [
        () => store.log.read("t", 0, { after: n - 1, limit: 10 }).then(({ events }) => events[0]),
        () => store.log.find(id),
        () => store.log.latestByKey("t", ["k"]).then((newest) => newest.get("k")),
        () => store.log.heads("t").then(([first]) => ({ id, seq: first?.head })),
      ];
      expect(await ways[n % ways.length]?.()).toMatchObject({ id, seq });
    }
    expect((await store.check()).events).toBe(50);
    await bus.close();
    await store.close();
    expect(existsSync(`${path}-ahead`)).toBe(false);
  });

  it("P1: an idle store does not keep its process alive, a read that waits does, and nothing is lost by an end without a close", async () => {
    const program = await compileProgram(new URL("./lone-appender.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(program), path]);
    expect(stdout).toBe("5\n");
    const store = await opened(false);
    expect((await store.log.heads("t"))[0]?.head).toBe(6);
    await store.close();
  });

  it("P1: a backup holds everything that was answered", async () => {
    const store = await opened(true);
    const bus = await createBus({ store, topics: [{ name: "t", partitions: 1 }] });
    for (let n = 1; n <= 20; n++) await bus.publish("t", { n });
    const copy = join(folder, "copy.db");
    await store.backup(copy);
    const restored = embeddedStore({ path: copy });
    await restored.open();
    expect((await restored.log.heads("t"))[0]?.head).toBe(20);
    await restored.close();
    await bus.close();
    await store.close();
  });
});
