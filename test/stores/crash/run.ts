/**
 * Kills a process in full work, over and over, and judges what it leaves behind: nothing acknowledged is lost (P1), seqs
 * have no gap (P2), ids are unique (P3), no event comes a second time as if it were the first (P5), what cannot be handled
 * is a dead letter once (P8), the view is what its log says (P9), and whoever comes next goes on at once.
 */
import { fileURLToPath } from "node:url";
import { deadLetterId } from "../../../src/model/derived-id.js";
import { seededRandom } from "../../../src/model/manual-clock.js";
import { deadLetterTopic } from "../../../src/model/topic.js";
import type { Store } from "../../../src/ports/store.js";
import { checkHistory, type HistoryEvent } from "../../../src/testing/history/index.js";
import { endSessions } from "../../support/ended-sessions.js";
import { countByKey, wholeLog } from "../../support/kept-history.js";
import { type StorePlace, storeAt } from "../../support/store-place.js";
import { ToldProcess } from "../../support/told-process.js";
import { CONSUMERS, isPoison, PARTITIONS, PROJECTION, TOPIC, VIEW } from "./names.js";
import { type Death, pointOf } from "./points.js";

export interface CrashRun {
  readonly anomalies: readonly string[];
  readonly kills: number;
  readonly acked: number;
  readonly logged: number;
  readonly redelivered: number;
  readonly deadLettered: number;
  /** Longest time from the moment a process has opened the store to its first delivery. */
  readonly slowestTakeoverMs: number;
}

export interface CrashOptions {
  /** child, compiled. */
  readonly program: URL;
  readonly place: StorePlace;
  readonly cycles: number;
  readonly seed: number;
  /** Names of points at which the processes die, in turns; none: they are killed at moments of chance. */
  readonly points?: readonly string[];
  /** The process is killed between these times after it began to work. */
  readonly lifeMs?: readonly [number, number];
  /** Those who died at a point are not waited for until their leases run out, where only a server holds these. */
  readonly endsSessions?: boolean;
}

type Line = HistoryEvent | { readonly type: "ready" } | { readonly type: "draining" };
type Delivered = Extract<HistoryEvent, { type: "delivered" }>;

const WORKING_MS = 60_000;
/** Publishes of one that is in full work. */
const BUSY = 30;
/** Without any progress. */
const DRAINING_MS = 60_000;

export async function runCrashes(options: CrashOptions): Promise<CrashRun> {
  const run = new Run(options);
  for (let cycle = 1; cycle <= options.cycles; cycle++) await run.cycle(cycle);
  await run.drain();
  await dump(await storeAt(options.place), run.history);
  const { kills, slowestTakeoverMs } = run;
  return { ...judge(run.history), kills, slowestTakeoverMs };
}

class Run {
  readonly history: HistoryEvent[] = [];
  kills = 0;
  slowestTakeoverMs = 0;
  readonly #options: CrashOptions;
  readonly #random: () => number;

  constructor(options: CrashOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
  }

  async cycle(cycle: number): Promise<void> {
    const { points = [], lifeMs = [20, 250] } = this.#options;
    const at = points[cycle % points.length];
    if (at !== undefined) return this.#dieAt(`m${cycle}`, at);
    const seenMs = new Map<string, number>();
    let acked = 0;
    const child = this.#start(`m${cycle}`, "run", null, ({ type }) => {
      if (type === "publish-ok") acked++;
      if (!seenMs.has(type)) seenMs.set(type, performance.now());
    });
    try {
      // The first process has nothing to take over.
      if (cycle > 1) await child.seen("delivered", WORKING_MS);
      await child.seen("ready", WORKING_MS);
      // Some may die at any time; others have done something by then, on however slow a machine.
      if (cycle % 2 === 0) await child.until(() => acked > BUSY, "so many publishes", WORKING_MS);
      const tookMs = (seenMs.get("delivered") ?? 0) - (seenMs.get("began") ?? 0);
      this.slowestTakeoverMs = Math.max(this.slowestTakeoverMs, tookMs);
      await new Promise((resolve) =>
        setTimeout(resolve, lifeMs[0] + this.#random() * (lifeMs[1] - lifeMs[0])),
      );
    } finally {
      await this.#kill(child, `m${cycle}`);
    }
  }

  /** All that is left is handled by one more process, which then ends in good order. */
  async drain(): Promise<void> {
    const last = this.#start("m0", "drain", null);
    try {
      await last.finished(DRAINING_MS);
    } finally {
      await last.kill();
    }
  }

  async #dieAt(member: string, at: string): Promise<void> {
    const { whenJoined = false } = pointOf(at);
    // Partitions are given back once a piece; what is done all the time may go well a few times first.
    const nth = whenJoined ? 1 : 1 + Math.floor(this.#random() * 2);
    const had = new Set<string>();
    const child = this.#start(member, "run", { at, nth }, (line) => {
      if (line.type === "delivered") had.add(`${line.group} ${line.partition}`);
    });
    const hasAll = (group: string): boolean =>
      Array.from({ length: PARTITIONS }, (_, partition) => `${group} ${partition}`).every((one) =>
        had.has(one),
      );
    const joiner = `${member}0`;
    let joining: ToldProcess<Line> | null = null;
    try {
      if (whenJoined) {
        await child.seen("ready", WORKING_MS);
        // Before that some may still be a dead one's, and the joiner might take its share without anybody giving it back.
        await child.until(() => hasAll(CONSUMERS), "event of each partition", WORKING_MS);
        joining = this.#start(joiner, "run", null);
      }
      await child.killed(WORKING_MS);
    } catch (error) {
      throw new Error(`${at}: ${(error as Error).message}`, { cause: error });
    } finally {
      await this.#kill(child, member);
      if (joining !== null) await this.#kill(joining, joiner);
    }
    if (this.#options.endsSessions) await this.#endSessions(joining === null ? [child] : [child, joining]);
  }

  /** A store file sees by itself that a process is dead, and is opened by nobody in between. */
  async #endSessions(dead: readonly ToldProcess<Line>[]): Promise<void> {
    const { place } = this.#options;
    if (place.path !== undefined) return;
    const store = await storeAt(place);
    await store.open();
    try {
      for (const { pid } of dead) await endSessions(store, pid);
    } finally {
      await store.close();
    }
  }

  #start(
    member: string,
    mode: "run" | "drain",
    death: Death | null,
    look: (line: Line) => void = () => undefined,
  ): ToldProcess<Line> {
    const { program, place } = this.#options;
    const args = [JSON.stringify(place), member, mode, JSON.stringify(death)];
    return new ToldProcess<Line>(fileURLToPath(program), args, (line) => {
      look(line);
      if (line.type !== "ready" && line.type !== "draining") this.history.push(line);
    });
  }

  async #kill(child: ToldProcess<Line>, member: string): Promise<void> {
    await child.kill();
    this.kills++;
    this.history.push({ type: "crashed", member });
  }
}

async function dump(store: Store, history: HistoryEvent[]): Promise<void> {
  await store.open();
  try {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const events = await wholeLog(store, TOPIC, partition);
      history.push({ type: "log", topic: TOPIC, partition, events });
    }
    await dumpLetters(store, history);
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
  } finally {
    await store.close();
  }
}

async function dumpLetters(store: Store, history: HistoryEvent[]): Promise<void> {
  const topic = deadLetterTopic(TOPIC);
  if ((await store.registry.topic(topic)) === null) return;
  for (const { partition } of await store.log.heads(topic)) {
    const events = await wholeLog(store, topic, partition);
    history.push({ type: "log", topic, partition, events });
  }
}

function judge(history: readonly HistoryEvent[]): Omit<CrashRun, "kills" | "slowestTakeoverMs"> {
  const logs = history.filter((event) => event.type === "log");
  const idsOf = (topic: string): string[] =>
    logs.filter((log) => log.topic === topic).flatMap((log) => log.events.map(({ id }) => id));
  const logged = idsOf(TOPIC);
  const letters = idsOf(deadLetterTopic(TOPIC));
  const delivered = history.filter((event) => event.type === "delivered");
  const firsts = new Map<string, Delivered>();
  const anomalies = [...judgeState(history), ...judgeLetters(logged, letters)];
  for (const event of delivered) {
    const place = `${event.partition}:${event.seq}`;
    if (!firsts.has(place)) firsts.set(place, event);
    else if (event.attempt <= 1)
      anomalies.push(`duplicate-without-attempt: ${place} came twice as attempt 1`);
  }
  if (firsts.size !== logged.length)
    anomalies.push(`lost: ${logged.length - firsts.size} events were never delivered`);
  return {
    anomalies,
    acked: history.filter(({ type }) => type === "publish-ok").length,
    logged: logged.length,
    redelivered: delivered.length - firsts.size,
    deadLettered: letters.length,
  };
}

/**
 * What a killed process wrote into the store just before its end it could not tell, so leases and dead letters are not
 * followed by the history here.
 */
function judgeState(history: readonly HistoryEvent[]): string[] {
  const told = history.filter(
    (event) => event.type !== "delivered" && !(event.type === "log" && event.topic !== TOPIC),
  );
  return checkHistory(told, { views: { [VIEW]: countByKey } }).map((a) => `${a.class}: ${a.says}`);
}

/** P8: each event that cannot be handled is among the dead letters, once; no other is. */
function judgeLetters(logged: readonly string[], letters: readonly string[]): string[] {
  const expected = new Set(logged.filter(isPoison).map((id) => deadLetterId(TOPIC, CONSUMERS, id)));
  const found = new Set(letters);
  const missing = [...expected].filter((id) => !found.has(id)).length;
  const foreign = [...found].filter((id) => !expected.has(id)).length;
  const anomalies: string[] = [];
  if (missing > 0) anomalies.push(`dead-letter-lost: ${missing} of ${expected.size}`);
  if (foreign > 0) anomalies.push(`dead-letter-without-cause: ${foreign}`);
  if (letters.length > found.size) anomalies.push(`dead-letter-twice: ${letters.length - found.size}`);
  return anomalies;
}
