import { spawnSync } from "node:child_process";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonBody } from "../../../src/model/json.js";
import type { EmbeddedStore } from "../../../src/stores/embedded/index.js";
import { failure } from "../../support/failure.js";
import { append, drafts, readAll, runProgram, TOPIC, until, Workplace } from "./support.js";

const work = new Workplace();
const BIG = jsonBody("x".repeat(20_000), { maxPayloadBytes: 1_048_576, maxPayloadDepth: 1 });

/** Appends until there is no room; how many events were acknowledged, and the error. */
async function fill(store: EmbeddedStore): Promise<{ acked: number; code: string }> {
  for (let acked = 0; acked < 100_000; acked += 10) {
    try {
      await append(store, drafts(10, { body: BIG }));
    } catch (error) {
      return { acked, code: (error as { code: string }).code };
    }
  }
  throw new Error("it never became full");
}

describe("a store without room", () => {
  it("P13: grows no larger than it may: STORE_FULL, reads go on, and once something is removed writing does", async () => {
    const maxBytes = 4 * 1_048_576;
    const store = await work.open({ maxBytes });
    const { acked, code } = await fill(store);
    expect(code).toBe("STORE_FULL");
    expect(await readAll(store)).toHaveLength(acked);
    expect((await failure(append(store, drafts(10, { body: BIG })))).retryable).toBe(true);
    expect(await store.log.trim(TOPIC, 0, acked / 2)).toBe(acked / 2);
    const [event] = await append(store, drafts(10, { body: BIG }));
    expect(event?.seq).toBe(acked + 1);
    expect((await stat(work.path)).size).toBeLessThanOrEqual(maxBytes);
  });

  it("P13: removal makes room also where small events of many partitions filled it", async () => {
    const partitions = 64;
    const small = { body: jsonBody("x".repeat(500), { maxPayloadBytes: 1_000, maxPayloadDepth: 1 }) };
    const spread = (store: EmbeddedStore): Promise<unknown> =>
      Promise.all(Array.from({ length: partitions }, (_, p) => append(store, drafts(1, small), p)));
    const unbounded = await work.open({}, { partitions });
    await spread(unbounded);
    await unbounded.close();
    const maxBytes = 4 * 1_048_576;
    const store = await work.open({ maxBytes }, { partitions });
    let rounds = 1;
    while (
      (await spread(store).then(
        () => "",
        (error) => error.code,
      )) === ""
    )
      rounds++;
    expect(rounds).toBeGreaterThan(10);
    for (let p = 0; p < partitions; p++) expect(await store.log.trim(TOPIC, p, rounds - 1)).toBe(rounds - 1);
    await spread(store);
    expect((await store.check()).problems).toEqual([]);
    expect((await stat(work.path)).size).toBeLessThanOrEqual(maxBytes);
  });

  it("P14: one request that finds no room does not spoil those committed with it", async () => {
    const store = await work.open({ maxBytes: 4 * 1_048_576 });
    const { acked } = await fill(store);
    const [small, large] = await Promise.allSettled([
      store.registry.putToken("small", 1, { expected: 0 }),
      append(store, drafts(200, { body: BIG })),
    ]);
    expect(large?.status).toBe("rejected");
    expect([small?.status, (await store.registry.token("small"))?.value]).toEqual(["fulfilled", 1]);
    expect(await readAll(store)).toHaveLength(acked);
  });

  it("P14: on a full device publishing fails with STORE_FULL, reads go on, and it resumes by itself", async () => {
    const device = await smallDevice(work.folder, 16);
    try {
      const store = await work.open({ path: join(device.folder, "bus.db"), ...device.options });
      const ballast = join(device.folder, "ballast");
      await writeFile(ballast, Buffer.alloc(8 * 1_048_576));
      const { acked, code } = await fill(store);
      expect(code).toBe("STORE_FULL");
      expect(await readAll(store)).toHaveLength(acked);
      await rm(ballast);
      if (device.isLimitOfStore) await store.log.trim(TOPIC, 0, acked - 10);
      await until("there is room again", async () =>
        append(store, drafts(1)).then(
          () => true,
          () => false,
        ),
      );
      expect((await readAll(store)).at(-1)?.seq).toBe(acked + 1);
      await store.close();
    } finally {
      device.remove();
    }
  });

  it("P1, P14: when the device fails under a write, what was acknowledged is there, without a gap", async () => {
    // 4,096 blocks of 512 bytes: a write beyond that is an I/O error, not a full disk.
    const lines = await runProgram(
      new URL("./io-error.ts", import.meta.url),
      [work.path],
      (command) => `ulimit -f 4096; ${command}`,
    );
    const said = lines.map((line) => JSON.parse(line) as { acked: number; code: string; readable: number });
    const last = said.at(-1);
    expect(["OUTCOME_UNKNOWN", "STORE_UNAVAILABLE", "STORE_FULL"]).toContain(last?.code);
    expect(last?.readable).toBe(last?.acked);
    const events = await readAll(await work.open());
    expect(events.length).toBeGreaterThanOrEqual(last?.acked ?? 0);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  });

  it("P1: a file ahead that cannot have its full size is none: a store that wants one says so when it is opened", async () => {
    // 2,000 blocks of 512 bytes are not quite 1 MiB.
    const [line = ""] = await runProgram(
      new URL("./opener.ts", import.meta.url),
      [work.path, "exclusive"],
      (command) => `ulimit -f 2000; ${command}`,
    );
    expect(JSON.parse(line)).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("bus.db-ahead cannot be made"),
    });
  });

  it("P1, P2: after a commit that may have happened no seq is promised until the writing thread has given one", async () => {
    // Else a process that is killed then leaves a commit and an answered event under one seq, in two files.
    const [line = ""] = await runProgram(
      new URL("./uncertain-appender.ts", import.meta.url),
      [work.path],
      (command) => `ulimit -f 4096; ${command}`,
    );
    expect(JSON.parse(line)).toEqual({ before: true, code: "OUTCOME_UNKNOWN", after: false });
    const events = await readAll(await work.open());
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  });
});

interface SmallDevice {
  readonly folder: string;
  readonly options: { readonly maxBytes?: number };
  /** It is the store that ends, not the device. */
  readonly isLimitOfStore: boolean;
  remove(): void;
}

/** A file system of its own where this process may make one; else a store that takes no more than it would hold. */
async function smallDevice(parent: string, mebibytes: number): Promise<SmallDevice> {
  const folder = join(parent, "small");
  await mkdir(folder);
  const mounted =
    spawnSync("/bin/mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", folder]).status === 0;
  return mounted
    ? {
        folder,
        options: {},
        isLimitOfStore: false,
        remove: () => void spawnSync("/bin/umount", ["-l", folder]),
      }
    : { folder, options: { maxBytes: mebibytes * 1_048_576 }, isLimitOfStore: true, remove: () => {} };
}
