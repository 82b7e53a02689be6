import { v4, v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/model/clock.js";
import { seededRandom } from "../../../src/model/manual-clock.js";
import type { EmbeddedStore } from "../../../src/stores/embedded/index.js";
import { append, draft, drafts, readAll, TOPIC, Workplace } from "./support.js";

const work = new Workplace();
const HOUR_MS = 3_600_000;

/** What a second publish under each of these ids is answered: the seq of the first, or undefined if it was added. */
async function again(store: EmbeddedStore, ids: readonly string[]): Promise<(number | undefined)[]> {
  const again = ids.map((id, n) => draft(n, { id, freshId: false }));
  const { events, duplicates } = await store.log.append(TOPIC, 1, again);
  return events.map(({ seq, partition }, i) => (duplicates.has(i) && partition === 0 ? seq : undefined));
}

describe("ids", () => {
  it("P3: ids that the bus made, and that have no entry of their own, are found when a caller brings them", async () => {
    const store = await work.open();
    const events = await append(store, drafts(3_000));
    const ids = [0, 1, 1_023, 1_024, 2_999].map((i) => events[i]?.id ?? "");
    expect(await again(store, ids)).toEqual([1, 2, 1_024, 1_025, 3_000]);
    for (const id of ids) expect((await store.log.find(id))?.id).toBe(id);
  });

  it("P3: the same after the file was opened anew, when nothing is remembered", async () => {
    const first = await work.open();
    const events = await append(first, drafts(300));
    await first.close();
    const store = await work.open();
    expect(await again(store, [events[0]?.id ?? "", events[299]?.id ?? "", systemClock.newId()])).toEqual([
      1,
      300,
      undefined,
    ]);
  });

  it("P3: ids of any time and any kind, side by side in one append", async () => {
    const store = await work.open();
    const nowMs = Date.now();
    const ids = [
      systemClock.newId(),
      v7({ msecs: nowMs - 1_000 }),
      v7({ msecs: nowMs - 48 * HOUR_MS }),
      v7({ msecs: nowMs + 48 * HOUR_MS }),
      v7({ msecs: 0 }),
      v7({ msecs: 2 ** 48 - 1 }),
      "order-17",
      "",
      "é\u0000ü",
      "6F1D3C3E-52A4-7D0B-9D6E-2B8F0C7A41E9",
      "6f1d3c3e-52a4-7d0b-9d6e-2b8f0c7a41e9",
      "6f1d3c3e-52a4-5d0b-9d6e-2b8f0c7a41e9",
      "6f1d3c3e-52a4-5d0b-9d6e-2b8f0c7a41eg",
      "00000000-0000-0000-0000-000000000000",
    ];
    const seqs = ids.map((_, i) => i + 1);
    await append(
      store,
      ids.map((id, n) => draft(n, { id, freshId: false })),
    );
    expect(await again(store, ids)).toEqual(seqs);
    expect((await readAll(store)).map(({ id }) => id)).toEqual(ids);
    await store.close();
    const reopened = await work.open();
    expect(await again(reopened, ids)).toEqual(seqs);
    for (const [i, id] of ids.entries()) expect((await reopened.log.find(id))?.seq).toBe(i + 1);
  });

  it("P3: an id twice in one call is one event, wherever in the call", async () => {
    const store = await work.open();
    const [a, b] = [systemClock.newId(), "mine"];
    const ids = [a, b, a, systemClock.newId(), b, a];
    const { events, duplicates } = await store.log.append(
      TOPIC,
      0,
      ids.map((id, n) => draft(n, { id, freshId: false })),
    );
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 1, 3, 2, 1]);
    expect([...duplicates]).toEqual([2, 4, 5]);
    expect(await readAll(store)).toHaveLength(3);
  });

  it("P3: a retry of a thousand events of which half are there adds the other half", async () => {
    const store = await work.open();
    const all = drafts(1_000).map((one) => ({ ...one, freshId: false }));
    await append(store, all.slice(250, 750));
    const { events, duplicates } = await store.log.append(TOPIC, 0, all);
    expect(duplicates.size).toBe(500);
    expect(events.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    const log = await readAll(store);
    expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 1_000 }, (_, i) => i + 1));
    expect(new Set(log.map(({ id }) => id)).size).toBe(1_000);
  });

  it("P3: of appends that go together, with ids of every kind in any order, each id has one event", async () => {
    const store = await work.open();
    const random = seededRandom(17);
    const pool = Array.from({ length: 3_000 }, (_, n) => {
      const kind = n % 4;
      if (kind === 0) return v4({ random: Uint8Array.from({ length: 16 }, () => random() * 256) });
      if (kind === 1) return `order-${n}`;
      return kind === 2 ? systemClock.newId() : v7({ msecs: Math.floor(random() * 2 ** 41) });
    });
    const seqOf = new Map<string, number>();
    for (let round = 0; round < 8; round++) {
      const appends = Array.from({ length: 4 }, () =>
        Array.from(
          { length: Math.floor(random() * 700) },
          () => pool[Math.floor(random() * pool.length)] ?? "",
        ),
      );
      const answers = await Promise.all(
        appends.map((ids) =>
          store.log.append(
            TOPIC,
            0,
            ids.map((id, n) => draft(n, { id, freshId: false })),
          ),
        ),
      );
      for (const [i, { events, duplicates }] of answers.entries()) {
        for (const [j, id] of (appends[i] ?? []).entries()) {
          expect([id, duplicates.has(j)]).toEqual([id, seqOf.has(id)]);
          const seq = seqOf.get(id) ?? seqOf.size + 1;
          seqOf.set(id, seq);
          expect(events[j]).toMatchObject({ id, seq });
        }
      }
    }
    expect(seqOf.size).toBeGreaterThan(2_000);
    expect((await store.check()).problems).toEqual([]);
    for (const [id, seq] of seqOf) expect((await store.log.find(id))?.seq).toBe(seq);
  });

  it("P3: an id holds as long as its event: after trim or removal it is free again", async () => {
    const store = await work.open();
    const ids = [systemClock.newId(), "first", systemClock.newId(), "third", systemClock.newId(), "last"];
    await append(
      store,
      ids.map((id, n) => draft(n, { id, freshId: false })),
    );
    await store.log.trim(TOPIC, 0, 2);
    await store.log.remove(TOPIC, 0, [3, 4]);
    expect(await again(store, ids)).toEqual([undefined, undefined, undefined, undefined, 5, 6]);
    for (const [i, id] of ids.entries()) {
      expect((await store.log.find(id))?.partition).toBe(i < 4 ? 1 : 0);
    }
  });

  it("P3: more ids than are remembered: the old ones are still known", async () => {
    const store = await work.open({ durability: "os", onWarning: () => {} });
    const first = await append(store, drafts(10));
    const strange = v7({ msecs: Date.now() + 30 * 24 * HOUR_MS });
    await append(store, [draft(1, { id: strange })]);
    for (let round = 0; round < 600; round++) await append(store, drafts(1_000));
    expect(await again(store, [first[0]?.id ?? "", first[9]?.id ?? "", strange])).toEqual([1, 10, 11]);
  }, 60_000);

  it("P3: a clock that jumps back costs nothing but speed", async () => {
    const store = await work.open();
    const nowMs = Date.now();
    const ids = [nowMs, nowMs - 30_000, nowMs - 29_999, nowMs + 1].map((msecs) => v7({ msecs }));
    for (const id of ids) await append(store, [draft(1, { id })]);
    expect(await again(store, ids)).toEqual([1, 2, 3, 4]);
  });
});
