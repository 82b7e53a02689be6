/** Copies of a store that would take the place of something, or be taken for something else. */
import { copyFileSync, existsSync } from "node:fs";
import { copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nextTurn } from "../../../src/model/next-turn.js";
import { partOf } from "../../../src/stores/embedded/backup/partial-copy.js";
import type { EmbeddedStore } from "../../../src/stores/embedded/index.js";
import { append, draft, drafts, failsWith, readAll, TOPIC, until, Workplace } from "./support.js";

const work = new Workplace();

/** The files of a store as they are now, as a process that is killed leaves them. */
function copyAsKilled(from: string, to: string): void {
  for (const suffix of ["", "-wal", "-ahead"])
    if (existsSync(from + suffix)) copyFileSync(from + suffix, to + suffix);
}

describe("a backup", () => {
  it("P1: takes the place of no store that is open: what is answered afterwards is still there", async () => {
    const store = await work.open();
    await append(store, drafts(5));
    const link = join(work.folder, "link.db");
    await symlink(work.path, link);
    const copy = join(work.folder, "copy.db");
    await store.backup(copy);
    const other = await work.open({ path: copy });
    for (const path of [work.path, link, copy]) {
      const { message } = await failsWith("STORE_UNAVAILABLE", store.backup(path));
      expect(message).toContain("is a store that is open");
    }
    await append(store, drafts(5));
    await append(other, drafts(2));
    await store.close();
    await other.close();
    expect(await readAll(await work.open())).toHaveLength(10);
    expect(await readAll(await work.open({ path: copy }))).toHaveLength(7);
  });

  it("P1: is put beside nothing that SQLite would take for a part of it", async () => {
    const store = await work.open();
    await append(store, drafts(5));
    const copy = join(work.folder, "copy.db");
    await store.backup(copy);
    const other = await work.open({ path: copy });
    await append(other, drafts(100));
    await mkdir(join(work.folder, "killed"));
    const killed = join(work.folder, "killed", "copy.db");
    copyAsKilled(copy, killed);
    const { message } = await failsWith("STORE_UNAVAILABLE", store.backup(killed));
    expect(message).toContain("copy.db-wal was left by a store that was not closed");
    await rm(`${killed}-wal`);
    await store.backup(killed);
    expect(await readAll(await work.open({ path: killed }))).toHaveLength(5);
  });

  it("P1: once closed, a copy may be replaced by another", async () => {
    const store = await work.open();
    const copy = join(work.folder, "copy.db");
    for (let count = 1; count <= 3; count++) {
      await append(store, drafts(1));
      await store.backup(copy);
      const copied = await work.open({ path: copy });
      expect(await readAll(copied)).toHaveLength(count);
      await copied.close();
    }
  });

  it("P1, P2: takes over nothing from a file ahead that lies where it is put: that was another's", async () => {
    const store = await work.open({ exclusive: true });
    await append(store, [draft(1)]);
    const copy = join(work.folder, "copy.db");
    await store.backup(copy);
    // By the thread, so that what goes ahead then does not follow what was copied.
    await append(store, drafts(1_000));
    await goAhead(store);
    const killed = join(work.folder, "killed.db");
    copyAsKilled(work.path, killed);
    await rm(`${killed}-wal`);
    await copyFile(copy, killed);
    const restored = await work.open({ path: killed });
    expect(await readAll(restored)).toHaveLength(1);
    expect((await restored.check()).problems).toEqual([]);
  });

  it("P1: takes the place of one that was left by a process that was killed", async () => {
    const store = await work.open();
    await append(store, drafts(5));
    const copy = join(work.folder, "copy.db");
    await writeFile(partOf(copy), "half");
    await store.backup(copy);
    expect(await readAll(await work.open({ path: copy }))).toHaveLength(5);
    expect(existsSync(partOf(copy))).toBe(false);
  });

  it("P1: is itself when it appears, never what somebody else writes under the same name meanwhile", async () => {
    const store = await work.open();
    await append(store, drafts(5));
    const copy = join(work.folder, "copy.db");
    const failed = failsWith("STORE_UNAVAILABLE", store.backup(copy));
    await until("it is begun", () => existsSync(partOf(copy)));
    await rm(partOf(copy));
    await writeFile(partOf(copy), "");
    await failed;
    expect([existsSync(copy), existsSync(partOf(copy))]).toEqual([false, true]);
  });
});

/** Until an event was written ahead: after a slow sync some go by the thread. */
async function goAhead({ log }: EmbeddedStore): Promise<void> {
  await until("an event goes ahead", async () => {
    await nextTurn();
    return (
      log.appendNow?.(TOPIC, 0, [draft(2)]) !== undefined || (await log.append(TOPIC, 0, [draft(2)])) === null
    );
  });
}
