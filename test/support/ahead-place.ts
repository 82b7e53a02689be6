/** A store of one process with its file ahead, its two threads played one after the other. */
import { copyFileSync, existsSync } from "node:fs";
import { expect } from "vitest";
import type { EventDraft } from "../../src/model/event.js";
import { JsonBody } from "../../src/model/json.js";
import { Leaf } from "../../src/stores/batch-encoder.js";
import { Ahead } from "../../src/stores/embedded/ahead/ahead.js";
import { AheadDisk } from "../../src/stores/embedded/ahead/ahead-disk.js";
import { aheadPath } from "../../src/stores/embedded/ahead/ahead-file.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import type {
  AheadStart,
  AppendAnswer,
  ArgumentOf,
  OperationName,
  Request,
} from "../../src/stores/embedded/protocol.js";
import { WriteEngine } from "../../src/stores/embedded/threads/write-engine.js";

export const PARTITIONS = 3;

function openEngine(path: string, exclusive: boolean): WriteEngine {
  const sizes = { busyTimeoutMs: 1_000, maxBytes: undefined, pollMs: 20 };
  return new WriteEngine({ path, exclusive, durability: "sync", ...sizes });
}

/** Ids by partition, in the order of their seqs. */
type Logs = string[][];

function noLogs(): Logs {
  return Array.from({ length: PARTITIONS }, () => []);
}

interface PlaceOptions {
  /** What the store held before. */
  readonly from?: Logs;
  /** Whether a disk is slow is not left to the machine. */
  readonly slowMs?: number;
  readonly useCache?: boolean;
}

/** A store that one process has for itself, its two threads played one after the other, and what it has promised so far. */
export class Place {
  readonly path: string;
  readonly promised = noLogs();
  readonly #engine: WriteEngine;
  readonly #ahead: Ahead;
  readonly #leaf = new Leaf();
  #number = 0;
  wentAhead = 0;

  constructor(
    path: string,
    { from = [], slowMs = Number.POSITIVE_INFINITY, useCache = false }: PlaceOptions = {},
  ) {
    this.path = path;
    this.#engine = openEngine(path, true);
    const start = this.#engine.ahead as AheadStart;
    this.#ahead = new Ahead(new AheadDisk(aheadPath(path), start.image, useCache), start, slowMs);
    this.call("defineTopic", { config: { name: "t", partitions: PARTITIONS }, ifAbsent: true });
    for (const [partition, ids] of from.entries()) this.promised[partition]?.push(...ids);
  }

  draft(id: string, text = "some text"): EventDraft {
    const body = JsonBody.ofText(JSON.stringify(text));
    return { id, ts: 1, key: "k", meta: undefined, body, freshId: false };
  }

  request(partition: number, ids: readonly string[], text?: string): Request {
    const drafts = ids.map((id) => this.draft(id, text));
    const argument = { topic: "t", partition, ...this.#leaf.encode(drafts), check: "all", fence: undefined };
    return { number: ++this.#number, name: "append", argument };
  }

  /** By the way ahead where it is open, else by the thread, as the writer does it. */
  append(partition: number, ids: readonly string[], text?: string): void {
    const request = this.request(partition, ids, text);
    const seqs = this.#ahead.write([request]);
    if (seqs === undefined) this.#byThread(request);
    else {
      this.wentAhead++;
      expect(seqs).toEqual([(this.promised[partition]?.length ?? 0) + 1]);
    }
    this.promised[partition]?.push(...ids);
  }

  /** As `append`, encoded in its record. */
  appendOne(partition: number, ids: readonly string[], text?: string): void {
    const drafts = ids.map((id) => this.draft(id, text));
    const seq = this.#ahead.writeOne("t", partition, drafts);
    if (seq === undefined) {
      this.append(partition, ids, text);
      return;
    }
    this.wentAhead++;
    expect(seq).toBe((this.promised[partition]?.length ?? 0) + 1);
    this.promised[partition]?.push(...ids);
  }

  #byThread(request: Request): AppendAnswer {
    this.#ahead.note([request]);
    this.apply();
    const answer = this.call("append", request.argument as ArgumentOf<"append">) as AppendAnswer;
    this.#ahead.learn(request.argument as ArgumentOf<"append">, answer);
    return answer;
  }

  /** What the thread answers to an append that must not go ahead. */
  refusedAhead(request: Request, draft?: EventDraft): AppendAnswer {
    const { topic, partition } = request.argument as ArgumentOf<"append">;
    if (draft !== undefined) expect(this.#ahead.writeOne(topic, partition, [draft])).toBeUndefined();
    expect(this.#ahead.write([request])).toBeUndefined();
    return this.#byThread(request);
  }

  apply(): void {
    this.#ahead.caughtUp(this.#engine.apply());
  }

  /** Before the event loop hears of what was taken over, it appends. */
  appendDuring(append: () => boolean): boolean {
    const serial = this.#engine.apply();
    const wentAhead = append();
    this.#ahead.caughtUp(serial);
    return wentAhead;
  }

  call<K extends OperationName>(name: K, argument: ArgumentOf<K>): unknown {
    const [reply] = this.#engine.run([{ number: ++this.#number, name, argument }]).replies;
    if (reply === undefined || "error" in reply) throw new Error(JSON.stringify(reply));
    return reply.answer;
  }

  /** The files as they are now, as a process that is killed leaves them. */
  killed(): string {
    const path = `${this.path}-k${++this.#number}`;
    for (const suffix of ["", "-wal", "-ahead"])
      if (existsSync(this.path + suffix)) copyFileSync(this.path + suffix, path + suffix);
    return path;
  }

  close(): void {
    this.apply();
    this.#ahead.close();
    this.#engine.close();
  }
}

/** What a store holds that is opened now, by one who knows nothing of what was before. */
export async function logsOf(path: string): Promise<Logs> {
  const store = embeddedStore({ path });
  await store.open();
  const logs = noLogs();
  for (const [partition, ids] of logs.entries()) {
    const { events } = await store.log.read("t", partition, { after: 0, limit: 100_000 });
    events.forEach(({ seq, id }, i) => {
      expect(seq).toBe(i + 1);
      ids.push(id);
    });
  }
  expect((await store.check()).problems).toEqual([]);
  await store.close();
  return logs;
}
