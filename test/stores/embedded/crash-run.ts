/**
 * Kills a process in full work, over and over, and judges what it leaves behind: nothing acknowledged is lost (P1), seqs
 * have no gap (P2), ids are unique (P3), no event comes a second time as if it were the first (P5), the view is what
 * its log says (P9), and whoever comes next goes on at once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { seededRandom } from "../../../src/model/manual-clock.js";
import { deadLetterTopic } from "../../../src/model/topic.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
import { checkHistory, type HistoryEvent } from "../../../src/testing/history/index.js";
import { countByKey, wholeLog } from "../../support/kept-history.js";
import { CONSUMERS, PARTITIONS, PROJECTION, TOPIC, VIEW } from "./crash-names.js";

export interface CrashRun {
  readonly anomalies: readonly string[];
  readonly kills: number;
  readonly acked: number;
  readonly logged: number;
  readonly redelivered: number;
  /** Longest time from the moment a process has opened the store to its first delivery. */
  readonly slowestTakeoverMs: number;
}

export interface CrashOptions {
  /** crash-child, compiled. */
  readonly program: URL;
  readonly path: string;
  readonly cycles: number;
  readonly seed: number;
  /** The process is killed between these times after it began to work. */
  readonly lifeMs?: readonly [number, number];
}

type Line = HistoryEvent | { readonly type: "ready" };
type Delivered = Extract<HistoryEvent, { type: "delivered" }>;

export async function runCrashes(options: CrashOptions): Promise<CrashRun> {
  const { path, cycles, seed, lifeMs = [20, 250] } = options;
  const random = seededRandom(seed);
  const program = fileURLToPath(options.program);
  const history: HistoryEvent[] = [];
  let slowestTakeoverMs = 0;
  for (let cycle = 1; cycle <= cycles; cycle++) {
    const member = `m${cycle}`;
    const child = new Child(program, [path, member, "run"], history);
    const beganMs = await child.seen("began");
    if (cycle > 1) slowestTakeoverMs = Math.max(slowestTakeoverMs, (await child.seen("delivered")) - beganMs);
    await child.seen("ready");
    await new Promise((resolve) => setTimeout(resolve, lifeMs[0] + random() * (lifeMs[1] - lifeMs[0])));
    await child.kill();
    history.push({ type: "crashed", member });
  }
  const last = new Child(program, [path, "m0", "drain"], history);
  await last.seen("drained");
  await last.exited();
  await dump(path, history);
  return { ...judge(history), kills: cycles, slowestTakeoverMs };
}

class Child {
  readonly #process: ChildProcess;
  readonly #history: HistoryEvent[];
  readonly #seen = new Map<string, number>();
  readonly #ended: Promise<unknown>;
  #errors = "";
  #onLine: () => void = () => {};

  constructor(program: string, args: readonly string[], history: HistoryEvent[]) {
    this.#history = history;
    this.#process = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    this.#ended = once(this.#process, "close");
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    createInterface({ input: this.#process.stdout as NodeJS.ReadableStream }).on("line", (line) =>
      this.#take(line),
    );
    this.#process.once("close", () => this.#onLine());
  }

  /** When a line of this type was first seen; waits for it. */
  async seen(type: Line["type"]): Promise<number> {
    const untilMs = performance.now() + 30_000;
    for (;;) {
      const seenMs = this.#seen.get(type);
      if (seenMs !== undefined) return seenMs;
      if (this.#process.exitCode !== null)
        throw new Error(`the process ended before "${type}": ${this.#errors}`);
      if (performance.now() > untilMs) throw new Error(`no "${type}" within 30 s: ${this.#errors}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000);
        this.#onLine = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null) throw new Error(`the process ended by itself: ${this.#errors}`);
    this.#process.kill("SIGKILL");
    await this.#ended;
  }

  async exited(): Promise<void> {
    await this.#ended;
    if (this.#process.exitCode !== 0) throw new Error(`exit code ${this.#process.exitCode}: ${this.#errors}`);
  }

  #take(text: string): void {
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      // The last line of a killed process may be cut short: then it was never said.
      return;
    }
    if (!this.#seen.has(line.type)) this.#seen.set(line.type, performance.now());
    if (line.type !== "ready") this.#history.push(line);
    this.#onLine();
  }
}

async function dump(path: string, history: HistoryEvent[]): Promise<void> {
  const store = embeddedStore({ path });
  await store.open();
  for (let partition = 0; partition < PARTITIONS; partition++) {
    history.push({ type: "log", topic: TOPIC, partition, events: await wholeLog(store, TOPIC, partition) });
  }
  const letters = await store.registry.topic(deadLetterTopic(TOPIC));
  if (letters !== null) {
    for (const { events } of await store.log.heads(letters.name)) {
      if (events > 0) history.push({ type: "stalled", waiting: `${events} events were dead-lettered` });
    }
  }
  for (const group of [CONSUMERS, PROJECTION]) {
    history.push({ type: "subscribed", group, topic: TOPIC, ordering: "key", maxAttempts: 1_000 });
    const state = await store.groups.state({ topic: TOPIC, group }, { nowMs: Date.now() });
    for (const { partition, epoch, cursor } of state?.leases ?? []) {
      history.push({ type: "cursor", group, topic: TOPIC, partition, epoch, cursor });
    }
  }
  const { documents } = await store.documents.find(VIEW, { limit: 1_000 });
  history.push({
    type: "view",
    view: VIEW,
    documents: Object.fromEntries(documents.map(({ key, fields }) => [key, fields])),
  });
  await store.close();
}

function judge(history: readonly HistoryEvent[]): Omit<CrashRun, "kills" | "slowestTakeoverMs"> {
  // What a killed process wrote into the store just before its end it could not tell, so leases are not followed here.
  const told = history.filter(({ type }) => type !== "delivered");
  const anomalies = checkHistory(told, { views: { [VIEW]: countByKey } }).map((a) => `${a.class}: ${a.says}`);
  const delivered = history.filter((event): event is Delivered => event.type === "delivered");
  const firsts = new Map<string, Delivered>();
  for (const event of delivered) {
    const place = `${event.partition}:${event.seq}`;
    const first = firsts.get(place);
    if (first === undefined) firsts.set(place, event);
    else if (event.attempt <= 1)
      anomalies.push(`duplicate-without-attempt: ${place} came twice as attempt 1`);
  }
  const logged = history.flatMap((event) => (event.type === "log" ? event.events.map((e) => e.id) : []));
  if (firsts.size !== logged.length)
    anomalies.push(`lost: ${logged.length - firsts.size} events were never delivered`);
  return {
    anomalies,
    acked: history.filter(({ type }) => type === "publish-ok").length,
    logged: logged.length,
    redelivered: delivered.length - firsts.size,
  };
}
