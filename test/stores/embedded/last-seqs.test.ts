/** Where the places of a partition in the file end: 2^40 seqs. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
import { SEQS } from "../../../src/stores/embedded/schema.js";
import { Connection } from "../../../src/stores/embedded/sqlite.js";
import { draft, drafts, seqs } from "../../../src/testing/conformance/samples.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "promethean-last-seqs-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a partition that has come to its last seqs", () => {
  for (const exclusive of [false, true])
    it(`P14: takes no more, and its neighbour keeps its places${exclusive ? ", also where appends go ahead" : ""}`, async () => {
      const path = join(folder, "bus.db");
      const young = embeddedStore({ path });
      await young.open();
      await young.registry.defineTopic({ name: "full", partitions: 1 });
      await young.registry.defineTopic({ name: "next", partitions: 1 });
      await young.close();
      const file = new Connection(path, { busyTimeoutMs: 1_000 });
      file.exec(
        `UPDATE part SET head = ${SEQS - 3}, low = ${SEQS - 2} WHERE id = (SELECT first_part FROM topic WHERE name = 'full')`,
      );
      file.close();
      const store = embeddedStore({ path, exclusive });
      await store.open();
      await store.log.append("full", 0, drafts(2));
      for (const count of [3, 1]) {
        const refused = await store.log
          .append("full", 0, drafts(count))
          .catch((error: unknown) => ({ events: [], error }));
        expect(refused.events).toEqual([]);
        expect(refused).toMatchObject({ error: { code: "STORE_FULL", retryable: false } });
      }
      expect(seqs((await store.log.append("next", 0, [draft()])).events)).toEqual([1]);
      expect(seqs((await store.log.read("next", 0, { after: 0, limit: 10 })).events)).toEqual([1]);
      expect(await store.check()).toMatchObject({ problems: [] });
      await store.close();
    });
});
