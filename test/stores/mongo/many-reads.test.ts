/** Reads of many partitions at once, which the store sends together where it can: each ends as it would have alone. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Seq, StoredEvent } from "../../../src/model/event.js";
import type { Page } from "../../../src/ports/log.js";
import type { Store } from "../../../src/ports/store.js";
import { draft, drafts, seqs } from "../../../src/testing/conformance/samples.js";
import { storedLog } from "../../support/kept-history.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { NotedClient } from "../../support/mongo/noted-client.js";

const TOPIC = "orders";
const PARTITIONS = 20;
const ALL = Array.from({ length: PARTITIONS }, (_, partition) => partition);

let database: TestDatabase;
let noted: NotedClient;
let reader: Store;
let writer: Store;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
  noted = new NotedClient(database.url);
  reader = await database.open({ client: noted.client });
  writer = await database.open();
});
afterEach(async () => {
  await failPoint.release();
  await reader.close();
  await noted.close();
  await database.dispose();
});

function readAll(afterOf: (partition: number) => Seq, limit = 1_000): Promise<Page[]> {
  return Promise.all(ALL.map((n) => reader.log.read(TOPIC, n, { after: afterOf(n), limit })));
}

async function appendToAll(countOf: (partition: number) => number): Promise<void> {
  await Promise.all(ALL.map((n) => writer.log.append(TOPIC, n, drafts(countOf(n), { freshId: true }))));
}

const seqsOf = ({ events }: { readonly events: readonly StoredEvent[] }): Seq[] => seqs(events);
const range = (from: Seq, to: Seq): Seq[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe.each([
  ["documents", ["find"]],
  ["batches", ["find", "find"]],
] as const)("many partitions of a topic kept as %s", (layout, commands) => {
  beforeEach(async () => {
    await reader.registry.defineTopic({ name: TOPIC, partitions: PARTITIONS, layout });
    await appendToAll(() => 2);
    await readAll(() => 0);
  });

  it("P2: are read by few commands once their ends were reached, each in its own order", async () => {
    await appendToAll((n) => 1 + (n % 4));
    noted.forget();
    const pages = await readAll(() => 2);
    expect(noted.names).toEqual(commands);
    expect(pages.map(seqsOf)).toEqual(ALL.map((n) => range(3, 3 + (n % 4))));
    expect(pages.map(({ through }) => through)).toEqual(ALL.map((n) => 3 + (n % 4)));
  });

  it("P2: have nothing new, or have something in some of them only", async () => {
    expect((await readAll(() => 2)).map(({ through }) => through)).toEqual(ALL.map(() => 2));
    await writer.log.append(TOPIC, 7, drafts(3));
    await writer.log.append(TOPIC, 19, drafts(1));
    const pages = await readAll(() => 2);
    expect(pages.map(seqsOf)).toEqual(ALL.map((n) => (n === 7 ? [3, 4, 5] : n === 19 ? [3] : [])));
  });

  it("P2: of which some have more than a page", async () => {
    await appendToAll((n) => (n % 5 === 0 ? 30 : 2));
    const pages = await readAll(() => 2, 10);
    expect(pages.map(seqsOf)).toEqual(ALL.map((n) => range(3, n % 5 === 0 ? 12 : 4)));
  });

  it("P2: have more events together than are asked for at once", async () => {
    await appendToAll(() => 400);
    const pages = await readAll(() => 2);
    expect(pages.map(({ events }) => events.length)).toEqual(ALL.map(() => 400));
  });

  it("P2: have more bytes together than one reply holds", async () => {
    const payload = "x".repeat(1_000_000);
    for (const n of ALL) await writer.log.append(TOPIC, n, [draft({ payload, freshId: true })]);
    const pages = await readAll(() => 2);
    expect(pages.map(seqsOf)).toEqual(ALL.map(() => [3]));
  });

  it("P2: are read from several places at once, by those who are near and those who are not", async () => {
    await appendToAll(() => 5);
    const pages = await Promise.all([readAll(() => 2), readAll(() => 0), readAll(() => 4), readAll(() => 6)]);
    const expected = [2, 0, 4, 6].map((after) => ALL.map(() => range(after + 1, 7)));
    expect(pages.map((some) => some.map(seqsOf))).toEqual(expected);
  });

  it("P2: lose events from below and in between meanwhile", async () => {
    await appendToAll(() => 6);
    await Promise.all(
      ALL.map(async (n) => {
        if (n % 3 === 0) await writer.log.trim(TOPIC, n, 4);
        if (n % 3 === 1) await writer.log.remove(TOPIC, n, [2, 3, 5, 8]);
      }),
    );
    const pages = await readAll(() => 2);
    const left = [[5, 6, 7, 8], [4, 6, 7], range(3, 8)];
    expect(pages.map(seqsOf)).toEqual(ALL.map((n) => left[n % 3]));
    expect(pages.map(({ through }) => through)).toEqual(ALL.map(() => 8));
  });

  it("P2: are read although the connection breaks on the way", async () => {
    await appendToAll(() => 1);
    const namespace = `${database.name}.${layout === "documents" ? "events" : "batches"}`;
    await failPoint.set(1, { failCommands: ["find"], closeConnection: true, namespace });
    expect((await readAll(() => 2)).map(seqsOf)).toEqual(ALL.map(() => [3]));
  });

  it("P2: are followed to what is there while events come and go", async () => {
    const read = ALL.map((): StoredEvent[] => []);
    const after = ALL.map(() => 0);
    for (let round = 0; round < 15; round++) {
      await Promise.all([
        appendToAll((n) => (n + round) % 7),
        ...ALL.filter((n) => (n + round) % 5 === 0).map((n) => writer.log.trim(TOPIC, n, round * 2)),
        readAll((n) => after[n] as Seq, 1 + (round % 9)).then((pages) => {
          for (const [n, { events, through }] of pages.entries()) {
            read[n]?.push(...events);
            after[n] = through;
          }
        }),
      ]);
    }
    for (const n of ALL) {
      const rest = await reader.log.read(TOPIC, n, { after: after[n] as Seq, limit: 1_000 });
      const got = [...(read[n] as StoredEvent[]), ...rest.events];
      expect(seqs(got)).toEqual([...new Set(seqs(got))].sort((a, b) => a - b));
      const there = await storedLog(writer, TOPIC, n);
      expect(got.map(({ id }) => id)).toEqual(expect.arrayContaining(there.map(({ id }) => id)));
    }
  });
});
