/**
 * Replay: copies events of a topic into another one, or moves a group to another place (group-move.ts). Both can be
 * asked first what it would mean (`dryRun`).
 *
 * A copy's id is derived from the event and the target, so that a replay that is repeated, or goes on after a crash,
 * adds nothing (P3), nor, in a compacted topic, brings back what was compacted away (P11). Each source partition is copied
 * in its order, so the order of keys is kept (P4). A dead letter that came back for one group repeats an event that is
 * copied, too: it is passed over.
 */

import { BusError } from "../../model/errors.js";
import type { EventRecord, Seq, StoredEvent } from "../../model/event.js";
import type { PublishItem, PublishOptions, StoredItem } from "../../model/event-bus.js";
import { apart } from "../../model/json.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Mutable } from "../../model/mutable.js";
import { isForOneGroup, withoutRedrive } from "../../model/redrive.js";
import { checkTopicName, type TopicConfig, type TopicRef, topicName } from "../../model/topic.js";
import { isRepeat } from "../history/snapshotter.js";
import { knownTopic } from "../history/time-travel.js";
import { checkHost, type Host } from "../host.js";
import { type Stretch, scanMerged } from "../log-scan.js";
import { checkAnswer, checkFunctions, checkRange } from "../option-checks.js";
import { pacer } from "../pacer.js";
import { finiteTask } from "../running-task.js";
import { floorsAt, type Position } from "../topic-position.js";
import { type MovedGroup, type MoveGroupOptions, moveGroup } from "./group-move.js";
import { type Copy, copyId, OvertakenCopies } from "./overtaken-copies.js";
import { ResumePoint } from "./resume-point.js";

/** Which events to copy into which topic, as what, and how fast. */
export interface CopyOptions<T = unknown> {
  /** The topic, from its beginning or from a position. */
  readonly from: TopicRef<T> | { readonly topic: TopicRef<T>; readonly position?: Position };
  /** The topic to copy to. */
  readonly to: TopicRef;
  readonly filter?: (event: EventRecord<T>) => boolean;
  /** What to publish in its place; what it leaves out stays as it was. Null passes the event over. */
  readonly map?: (event: EventRecord<T>) => Partial<Omit<PublishItem, "id">> | null;
  /** Events a second; default: as fast as they go. */
  readonly rate?: number;
  /** Nothing is published. */
  readonly dryRun?: boolean;
  /** Under this name the replay keeps its place, and goes on from there if it was interrupted. */
  readonly resume?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (copied: Copied) => void;
}

/** What a copy has done, or would do. */
export interface Copied {
  /** Events read. */
  readonly read: number;
  /** Events published, or that would be. */
  readonly events: number;
  /** Of these, the ones that were there before. */
  readonly duplicates: number;
  readonly passedOver: number;
  /** For each partition of the source, the last event that is accounted for. */
  readonly floors: readonly Seq[];
  /** False if it was stopped before the end. */
  readonly complete: boolean;
}

const COPY_OPTIONS = namesOf<CopyOptions>({
  from: true,
  to: true,
  filter: true,
  map: true,
  rate: true,
  dryRun: true,
  resume: true,
  signal: true,
  onProgress: true,
});

type Place = { readonly from: string; readonly to: string; readonly floors: readonly Seq[] };

const BATCH = 500;
const SAVE_EVERY_EVENTS = 5_000;

/**
 * Copies a topic into another, each event once; or moves a group to another place of its topic.
 *
 * @example
 * await replay(bus, { from: { topic: "orders", position: { ts: noon } }, to: "orders-again", rate: 500 });
 * const preview = await replay(bus, { topic: "orders", group: "mailer", to: "earliest", dryRun: true });
 */
export function replay<T = unknown>(host: Host, options: CopyOptions<T>): Promise<Copied>;
export function replay(host: Host, options: MoveGroupOptions): Promise<MovedGroup>;
export async function replay<T>(
  host: Host,
  options: CopyOptions<T> | MoveGroupOptions,
): Promise<Copied | MovedGroup> {
  checkHost(host);
  const given = Object(options) as object;
  if ("group" in given && "topic" in given && "to" in given) {
    return moveGroup(host, options as MoveGroupOptions);
  }
  if ("from" in given && "to" in given) return copyEvents(host, options as CopyOptions<T>);
  throw new BusError(
    "INVALID_OPTION",
    "replay takes { from: topic or { topic, position? }, to: topic } or { topic, group, to: position }",
  );
}

async function copyEvents<T>(host: Host, options: CopyOptions<T>): Promise<Copied> {
  checkOptionNames("replay of a topic", options, COPY_OPTIONS);
  const { filter, map, onProgress, rate } = options;
  checkRange("rate", rate, Number.MIN_VALUE);
  checkFunctions({ filter, map, onProgress });
  const { registry, log } = host.store;
  const { topic, position = "earliest" } = startOf(options.from);
  const config = await knownTopic(host, topic);
  const source = config.name;
  const target = topicName(options.to);
  checkTopicName(target);
  if (target === source) throw new BusError("INVALID_OPTION", "a topic cannot be replayed into itself");
  const point = await ResumePoint.load<Place>(
    registry,
    "replay",
    options.dryRun ? undefined : options.resume,
  );
  if (point.value !== undefined && (point.value.from !== source || point.value.to !== target)) {
    throw new BusError(
      "INVALID_OPTION",
      `the unfinished replay "${options.resume}" goes from ${point.value.from} to ${point.value.to}`,
    );
  }
  const floors = point.value?.floors ?? (await floorsAt(log, source, position));
  const overtaken = options.dryRun ? null : await OvertakenCopies.of(host.store, source, target);
  const copier = new Copier<T>(host, options, config, floors, overtaken);
  const task = finiteTask(
    {
      kind: "replay",
      name: `replay ${source} → ${target}`,
      clock: host.clock,
      board: host.tasks,
      stats: () => ({ ...copier.counts }),
    },
    async (stopped) => {
      const signal = options.signal === undefined ? stopped : AbortSignal.any([stopped, options.signal]);
      const stretches = (await log.heads(source)).map(({ partition, head }) => ({
        topic: source,
        partition,
        after: floors[partition] ?? 0,
        through: head,
      }));
      await copier.run(
        stretches,
        (reached) => point.save({ from: source, to: target, floors: reached }),
        signal,
      );
      if (copier.result.complete) await point.forget();
    },
  );
  await task.done;
  return copier.result;
}

function startOf<T>(from: CopyOptions<T>["from"]): { topic: TopicRef<T>; position?: Position } {
  return typeof from === "object" && from !== null && "topic" in from ? from : { topic: from };
}

class Copier<T> {
  readonly #host: Host;
  readonly #options: CopyOptions<T>;
  readonly #source: TopicConfig;
  #floors: readonly Seq[];
  /** What waits to be published: as it is, or in place of it. One of the two is empty. */
  readonly #copies: StoredItem[] = [];
  readonly #mapped: PublishItem[] = [];
  /** Of each of these, where it comes from; kept where something may have overtaken it. */
  readonly #places: Copy["from"][] = [];
  readonly #overtaken: OvertakenCopies | null;
  readonly counts = { read: 0, events: 0, duplicates: 0, passedOver: 0 };
  #complete = false;

  constructor(
    host: Host,
    options: CopyOptions<T>,
    source: TopicConfig,
    floors: readonly Seq[],
    overtaken: OvertakenCopies | null,
  ) {
    this.#overtaken = overtaken;
    this.#host = host;
    this.#options = options;
    this.#source = source;
    this.#floors = floors;
  }

  get result(): Copied {
    return { ...this.counts, floors: [...this.#floors], complete: this.#complete };
  }

  async run(
    stretches: readonly Stretch[],
    save: (floors: readonly Seq[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { rate, dryRun } = this.#options;
    const batchSize = rate === undefined ? BATCH : Math.max(1, Math.min(BATCH, Math.floor(rate / 10)));
    const keepPace = pacer(this.#host.clock, dryRun ? undefined : rate, signal);
    const reached = [...this.#floors];
    const send = async (isDue: boolean): Promise<void> => {
      const sent = await this.#flush(reached);
      if (isDue) await save(this.#floors);
      await keepPace(sent);
    };
    // While a batch is published the next one is read, not more: what comes later must not be there if this one fails (P4).
    let sending = Promise.resolve();
    let unsaved = 0;
    try {
      for await (const stored of scanMerged(this.#host.store.log, stretches, { signal })) {
        if (signal.aborted) break;
        this.counts.read++;
        const mayRepeat = isForOneGroup(stored.meta?.headers);
        if (mayRepeat && (await isRepeat(this.#host.store.log, stored, this.#source))) this.#passOver();
        else this.#take(stored);
        reached[stored.partition] = stored.seq;
        const isDue = ++unsaved >= SAVE_EVERY_EVENTS;
        if (this.#waiting < batchSize && !isDue) continue;
        await sending;
        if (signal.aborted) break;
        sending = send(isDue);
        // Told to whoever waits for it.
        sending.catch(() => undefined);
        if (isDue) unsaved = 0;
      }
    } finally {
      await Promise.allSettled([sending]);
    }
    await sending;
    if (signal.aborted) return save(this.#floors);
    await this.#flush(reached);
    for (const { partition, through } of stretches) reached[partition] = through;
    this.#floors = reached;
    this.#complete = true;
  }

  #passOver(): void {
    this.counts.passedOver++;
  }

  /** Its payload is looked at by those alone who were given to look at it. */
  #take(event: StoredEvent): void {
    const { filter, map, to } = this.#options;
    if (filter !== undefined && !filter(event.record as EventRecord<T>)) {
      this.#passOver();
      return;
    }
    const id = copyId(event.id, topicName(to));
    const changed = map?.(event.record as EventRecord<T>);
    if (changed !== undefined) checkAnswer("map", changed);
    if (changed === null) {
      this.#passOver();
      return;
    }
    if (map !== undefined)
      this.#mapped.push(given({ payload: event.record.payload, ...optionsOf(event, id), ...changed, id }));
    // Of those that a filter lets pass each may be all that is wanted of its page.
    else this.#copies.push({ body: apart(event.body), options: optionsOf(event, id) });
    const { partition, seq, ts } = event;
    if (this.#overtaken !== null) this.#places.push({ partition, seq, ts });
  }

  get #waiting(): number {
    return this.#copies.length + this.#mapped.length;
  }

  /** `reached`: of each partition, what has been read by now. */
  async #flush(reached: readonly Seq[]): Promise<number> {
    const [all, places] = [[this.#copies.splice(0), this.#mapped.splice(0)] as const, this.#places.splice(0)];
    const floors = [...reached];
    const [copies, mapped] = await this.#withoutOvertaken(...all, places);
    const count = copies.length + mapped.length;
    if (count > 0 && !this.#options.dryRun) this.counts.duplicates += await this.#publish(copies, mapped);
    this.#floors = floors;
    this.counts.events += count;
    if (count > 0) this.#options.onProgress?.(this.result);
    return count;
  }

  async #withoutOvertaken(
    copies: readonly StoredItem[],
    mapped: readonly PublishItem[],
    places: readonly Copy["from"][],
  ): Promise<[readonly StoredItem[], readonly PublishItem[]]> {
    if (this.#overtaken === null || places.length === 0) return [copies, mapped];
    const keys = [...copies.map(({ options }) => options.key), ...mapped.map(({ key }) => key)];
    const isOvertaken = await this.#overtaken.among(places.map((from, i) => ({ from, key: keys[i] })));
    this.counts.passedOver += isOvertaken.filter((is) => is).length;
    const isLeft = (_: unknown, i: number): boolean => isOvertaken[i] !== true;
    return [copies.filter(isLeft), mapped.filter(isLeft)];
  }

  /** How many were there before. */
  async #publish(copies: readonly StoredItem[], mapped: readonly PublishItem[]): Promise<number> {
    const { to } = this.#options;
    if (mapped.length === 0)
      return (await this.#host.publishStored(to, copies)).filter((isDuplicate) => isDuplicate).length;
    const published = await this.#host.publishMany(to, mapped);
    return published.filter(({ duplicate }) => duplicate === true).length;
  }
}

/** With the members that it has, one by one: this is done for every event. */
function optionsOf({ id: original, ts, key, meta }: StoredEvent, id: string): PublishOptions {
  const options: Mutable<PublishOptions> = { ts, id, caused_by: [original] };
  if (key !== undefined) options.key = key;
  if (meta?.headers !== undefined) options.headers = withoutRedrive(meta.headers);
  if (meta?.tags !== undefined) options.tags = meta.tags;
  if (meta?.sid !== undefined) options.sid = meta.sid;
  return options;
}

/** Without what is said to be undefined. */
function given(item: PublishItem): PublishItem {
  const members = Object.entries(item).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as unknown as PublishItem;
}
