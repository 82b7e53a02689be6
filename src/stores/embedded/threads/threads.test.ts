import { once } from "node:events";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createBus } from "../../../bus/create-bus.js";
import { BusError } from "../../../model/errors.js";
import { JsonBody } from "../../../model/json.js";
import { type EmbeddedStore, embeddedStore } from "../index.js";

/** The threads that were started, so that a test can end one. */
const started: { readonly name: string; readonly worker: Worker }[] = [];
vi.mock("./worker-start.js", async (original) => {
  const { startWorker } = await original<typeof import("./worker-start.js")>();
  return {
    startWorker: async (...args: Parameters<typeof startWorker>) => {
      const worker = await startWorker(...args);
      started.push({ name: args[0], worker });
      return worker;
    },
  };
});

/** A message of which a thread throws where nobody catches. */
const NO_REQUEST = null;
const endOf = (worker: Worker): Promise<unknown> => new Promise((resolve) => worker.once("exit", resolve));

describe("the threads of a store", () => {
  let folder: string;
  let store: EmbeddedStore;
  let warnings: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "promethean-threads-"));
    warnings = [];
    store = embeddedStore({ path: join(folder, "bus.db"), onWarning: (message) => warnings.push(message) });
    await store.open();
    await store.registry.defineTopic({ name: "t", partitions: 1 });
  });
  afterEach(async () => {
    await store.close();
    started.length = 0;
    await rm(folder, { recursive: true, force: true });
  });

  const append = (id: string): Promise<unknown> =>
    store.log.append("t", 0, [
      { id, ts: 1, key: undefined, meta: undefined, body: JsonBody.ofText("1"), freshId: false },
    ]);
  const seqs = async (): Promise<number[]> =>
    (await store.log.read("t", 0, { after: 0, limit: 100 })).events.map(({ seq }) => seq);
  const threads = (name: string): Worker[] =>
    started.filter((one) => one.name === name).map(({ worker }) => worker);

  async function appendUntilDone(id: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      const outcome = await append(id).catch((error: unknown) => error);
      if (!(outcome instanceof Error)) return;
      expect(BusError.is(outcome) && outcome.retryable).toBe(true);
      expect(tries).toBeLessThan(1_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  it("P15: a writing thread that ends is started again; what was under way is repeated without harm", async () => {
    await append("a");
    const inFlight = append("b");
    await threads("writer-worker")[0]?.terminate();
    const outcome = await inFlight.catch((error: unknown) => error);
    if (outcome instanceof Error) expect(outcome).toMatchObject({ code: "OUTCOME_UNKNOWN", retryable: true });
    await appendUntilDone("b");
    await appendUntilDone("c");
    expect(await seqs()).toEqual([1, 2, 3]);
    expect(threads("writer-worker")).toHaveLength(2);
    expect(warnings.join()).toContain("started again");
  });

  it("P1, P2, P15: what went ahead of a thread that ends is taken over by the next one", async () => {
    const alone = embeddedStore({
      path: join(folder, "alone.db"),
      exclusive: true,
      onWarning: (message) => warnings.push(message),
    });
    const bus = await createBus({ store: alone, topics: [{ name: "t", partitions: 1 }] });
    for (let n = 1; n <= 40; n++) {
      // Published again under its id until it is answered, as the bus does.
      expect((await bus.publish("t", { n })).seq).toBe(n);
      if (n % 10 === 0) await threads("writer-worker").at(-1)?.terminate();
    }
    await expect
      .poll(() =>
        alone.log.heads("t").then(
          ([first]) => first?.head,
          () => "not yet",
        ),
      )
      .toBe(40);
    const { events } = await alone.log.read("t", 0, { after: 0, limit: 100 });
    expect(events.map(({ body }) => JSON.parse(body.text))).toEqual(events.map(({ seq }) => ({ n: seq })));
    await bus.close();
  });

  it("P15: reads and signals go on through it", async () => {
    const heard: string[] = [];
    const stop = store.watch?.((signal) => heard.push(signal.type));
    await append("a");
    await threads("writer-worker")[0]?.terminate();
    expect(await seqs()).toEqual([1]);
    await appendUntilDone("b");
    expect(heard.filter((type) => type === "appended")).toHaveLength(2);
    const other = embeddedStore({ path: store.path });
    await other.open();
    heard.length = 0;
    await other.registry.putToken("x", 1, { expected: 0 });
    await vi.waitFor(() => expect(heard).toContain("any"), { timeout: 30_000 });
    stop?.();
    await other.close();
  });

  it("a reading thread that ends is started again by the next query", async () => {
    await store.documents.write("v", [{ op: "upsert", key: "a", ts: 1, fields: {} }]);
    expect((await store.documents.find("v", { limit: 5 })).documents).toHaveLength(1);
    const inFlight = store.documents.find("v", { limit: 5 });
    await threads("reader-worker")[0]?.terminate();
    // The store is not closed: whoever asked may ask again.
    const outcome = await inFlight.catch((error: unknown) => error);
    if (outcome instanceof Error)
      expect(outcome).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    expect((await store.documents.find("v", { limit: 5 })).documents).toHaveLength(1);
    expect(threads("reader-worker")).toHaveLength(2);
  });

  it("P15: what is asked while a reading thread that failed is still ending is answered by the next one, which a close ends", async () => {
    await store.documents.write("v", [{ op: "upsert", key: "a", ts: 1, fields: {} }]);
    expect((await store.documents.find("v", { limit: 5 })).documents).toHaveLength(1);
    const [first] = threads("reader-worker") as [Worker];
    const failed = once(first, "error");
    const ended = endOf(first);
    first.postMessage(NO_REQUEST);
    await failed;
    const asked = store.documents.find("v", { limit: 5 });
    await ended;
    expect((await asked).documents).toHaveLength(1);
    await store.close();
    expect(threads("reader-worker").map(({ threadId }) => threadId)).toEqual([-1, -1]);
    await store.open();
  });

  it("P15: a writing thread that fails is replaced once, also where one process has the file for itself", async () => {
    const alone = embeddedStore({ path: join(folder, "alone.db"), exclusive: true, onWarning: () => {} });
    const bus = await createBus({ store: alone, topics: [{ name: "t", partitions: 1 }] });
    for (let n = 1; n <= 9; n++) {
      expect((await bus.publish("t", { n })).seq).toBe(n);
      if (n % 3 > 0) continue;
      const writing = threads("writer-worker").at(-1) as Worker;
      const ended = endOf(writing);
      writing.postMessage(NO_REQUEST);
      await ended;
    }
    expect((await bus.publish("t", {})).seq).toBe(10);
    await bus.close();
    // Of the store of every test there is one more.
    expect(threads("writer-worker")).toHaveLength(1 + 1 + 3);
    expect(
      threads("writer-worker")
        .slice(1)
        .map(({ threadId }) => threadId),
    ).toEqual([-1, -1, -1, -1]);
  });

  it("an argument that cannot cross between them fails alone, not with what is asked in the same turn", async () => {
    const odd = (() => 1) as never;
    const outcomes = await Promise.allSettled([
      append("a"),
      store.groups.beat(odd, { nowMs: 0, ttlMs: 1 }),
      append("b"),
      store.outbox.purge(odd),
      store.registry.putToken("x", 1, { expected: 0 }),
      append("c"),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    await append("d");
    const { events } = await store.log.read("t", 0, { after: 0, limit: 100 });
    expect(events.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
  });

  it("P15: an argument at which the engine would end the process fails alone", async () => {
    const outcomes = await Promise.allSettled([
      append("a"),
      store.groups.beat(true as never, { nowMs: 0, ttlMs: 1 }),
      store.log.trim("t", 0, false as never),
      append("b"),
    ]);
    expect(outcomes.map(({ status }) => status)).toContain("rejected");
    expect(await seqs()).toEqual([1, 2]);
  });

  it("what was written is folded into the main file now and then, without a close", async () => {
    for (let n = 1; n <= 300; n++) await append(`e${n}`);
    // The main file alone, without the log beside it.
    const alone = async (): Promise<number> => {
      const path = join(folder, "copy.db");
      await copyFile(store.path, path);
      const copy = embeddedStore({ path });
      await copy.open();
      const [head] = await copy.log.heads("t");
      await copy.close();
      await rm(path);
      return head?.head ?? 0;
    };
    await vi.waitFor(async () => expect(await alone()).toBeGreaterThanOrEqual(250), {
      timeout: 30_000,
      interval: 200,
    });
    await append("e301");
    expect((await store.log.heads("t"))[0]?.head).toBe(301);
  });

  it("closing waits for what is under way, and ends every thread", async () => {
    const appends = ["a", "b", "c"].map(append);
    await store.documents.find("v", { limit: 5 });
    await store.close();
    await Promise.all(appends);
    for (const { worker } of started) expect(worker.threadId).toBe(-1);
    await expect(append("d")).rejects.toMatchObject({ code: "CLOSED" });
    await store.open();
    expect(await seqs()).toEqual([1, 2, 3]);
  });
});
