/**
 * Redrive: publishes dead letters to their topic again, each partition in log order, so each key in its order. Only
 * the group that gave an event up gets it again (header `x-redrive-group`); others have had it. In another topic nobody has.
 *
 * Each letter has one id under which it can come back, so a redrive that is repeated or goes on after a crash adds
 * nothing (P3). On a compacted topic an event that was overtaken by a newer one of its key stays where it is: it would
 * become the key's newest value.
 */

import { pause } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import { canonicalText, type JsonObject } from "../../model/json.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Redriven } from "../../model/redrive.js";
import { checkTopicName, type TopicRef, topicName } from "../../model/topic.js";
import { checkHost, type Host } from "../host.js";
import {
  checkAnswer,
  checkCount,
  checkFunctions,
  checkList,
  checkObject,
  checkRange,
} from "../option-checks.js";
import { pacer } from "../pacer.js";
import { GatheredWrites, type Transaction } from "../views/transaction.js";
import { ViewPointers } from "../views/view-pointer.js";
import { Comebacks } from "./comebacks.js";
import { checkKnown, endChains, fits, keyName, type Letter, type LetterQuery } from "./dead-letters.js";
import {
  type BroughtBack,
  type Chain,
  Chains,
  type HeldLetter,
  standingOf,
  turnsOf,
} from "./held-letters.js";
import { letterAt, lettersBehind } from "./letter-reading.js";
import { isSuperseded } from "./superseded.js";

/** Which dead letters to bring back, where to, and how fast. */
export interface RedriveOptions extends Omit<LetterQuery, "status" | "newestFirst"> {
  /** The topic that the letters came from. */
  readonly topic: TopicRef;
  /** Where to; default: the topic it came from. In another one every group gets the event. */
  readonly to?: TopicRef;
  /** Events a second; default: as fast as they go. */
  readonly rate?: number;
  /** At most so many. */
  readonly limit?: number;
  /** The event to publish instead; null passes the letter over. */
  readonly transform?: (event: EventRecord, letter: Letter) => { payload: unknown; key?: string } | null;
  /** Every group gets the event, not only the one that gave it up. */
  readonly allGroups?: boolean;
  /** Nothing is published; with `handler`, shows what it would change. */
  readonly dryRun?: boolean;
  /** As of a transactional projector; run on the letters of a dry run and rolled back. */
  readonly handler?: (events: readonly EventRecord[], tx: Transaction) => unknown;
  /** Who does it, for the audit. */
  readonly actor?: string;
  /** Aborting it stops after what is under way; what is done stays done. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly redriven: number; readonly passedOver: number }) => void;
}

/** A document that a redrive would change, as it is and as it would be. */
export interface DocumentDifference {
  readonly view: string;
  readonly key: string;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

/** What a redrive has done, or would do. */
export interface RedriveResult {
  readonly topic: string;
  readonly redriven: number;
  /** By `transform`, or because the letter is incomplete and the log no longer has its event, or as superseded. */
  readonly passedOver: number;
  /** Passed over because a newer event of their key exists in a compacted topic. */
  readonly superseded: number;
  /** Keys whose newer events are held back still: a letter failed again, or nobody works for the group now. */
  readonly held?: number;
  /** Ids of the letters that would be redriven, and what the handler did with each, of a dry run. */
  readonly preview?: readonly {
    readonly letter: string;
    readonly error?: string;
    readonly differences: readonly DocumentDifference[];
  }[];
}

/**
 * Brings dead letters back, each key in order, for the group that gave them up. Repeated, it brings nothing back twice.
 *
 * @example
 * await redrive(bus, { topic: "orders.placed", group: "mailer", rate: 50 });
 */
export async function redrive(host: Host, given: RedriveOptions): Promise<RedriveResult> {
  checkHost(host);
  const options = checked(given);
  await checkKnown(host, options.topic);
  const run = new RedriveRun(host, options);
  const held = await run.all().catch(async (error: unknown) => {
    // What came back before stays. A store that is away must not hide what is wrong.
    if (!options.dryRun && run.counts.redriven > 0)
      await audit(host, options, { ...run.counts, complete: false }).catch(() => undefined);
    throw error;
  });
  const counts = { ...run.counts, ...(held > 0 && { held }) };
  if (options.dryRun) return { topic: options.topic, ...counts, preview: run.preview };
  await audit(host, options, counts);
  return { topic: options.topic, ...counts };
}

/** As given, with topics by name. */
interface Redrive extends Omit<RedriveOptions, "topic" | "to" | "ids"> {
  readonly topic: string;
  readonly to?: string;
  readonly ids?: ReadonlySet<string>;
}

const OPTIONS = namesOf<RedriveOptions>({
  topic: true,
  group: true,
  key: true,
  errorClass: true,
  ids: true,
  filter: true,
  to: true,
  rate: true,
  limit: true,
  transform: true,
  allGroups: true,
  dryRun: true,
  handler: true,
  actor: true,
  signal: true,
  onProgress: true,
});

function checked(given: RedriveOptions): Redrive {
  checkObject("redrive", given);
  checkOptionNames("redrive", given, OPTIONS);
  const { topic, to, ids, ...rest } = given;
  for (const one of to === undefined ? [topic] : [topic, to]) checkTopicName(topicName(one));
  const { rate, limit, transform, filter, handler, onProgress } = rest;
  checkRange("rate", rate, Number.MIN_VALUE);
  checkCount("limit", limit, 0);
  checkList("ids", ids);
  checkFunctions({ transform, filter, handler, onProgress });
  return {
    ...rest,
    topic: topicName(topic),
    ...(to !== undefined && { to: topicName(to) }),
    ...(ids !== undefined && { ids: new Set(ids) }),
  };
}

type Preview = NonNullable<RedriveResult["preview"]>[number];

/** How long to wait for a group that holds keys to take its letters, and how often to look. */
const RELEASE_WAIT_MS = 5_000;
const LOOK_MS = 20;

class RedriveRun {
  readonly counts = { redriven: 0, passedOver: 0, superseded: 0 };
  readonly preview: Preview[] = [];
  readonly #host: Host;
  readonly #options: Redrive;
  readonly #target: string;
  readonly #comebacks: Comebacks;
  /** Letters of held keys, and how far the dead letters have been read. */
  readonly #chains = new Chains();
  readonly #places = new Map<number, number>();
  /** The last event of each group and partition that brought a letter of a held key back. */
  readonly #back = new Map<string, BroughtBack>();
  /** Letters of held keys that are not to be redriven, by id: each is asked about once. */
  readonly #staying = new Set<string>();
  /** To be called after each letter that went, before the next one goes. */
  readonly #keepPace: (letters: number) => Promise<void>;
  #hasToWait = false;
  #compacted = false;

  constructor(host: Host, options: Redrive) {
    this.#host = host;
    this.#options = options;
    this.#target = options.to ?? options.topic;
    const { topic, allGroups, rate, signal = new AbortController().signal } = options;
    this.#keepPace = pacer(host.clock, rate, signal);
    this.#comebacks = new Comebacks(host, { topic, target: this.#target, allGroups }, (letters) => {
      this.counts.redriven += letters;
      options.onProgress?.(this.counts);
    });
  }

  /** Returns how many keys are held still. */
  async all(): Promise<number> {
    const { topic, dryRun } = this.#options;
    this.#compacted = (await this.#host.store.registry.topic(this.#target))?.compaction === true;
    const touched = new Set<string>();
    try {
      await this.#read(async (letter) => {
        if (!this.#isWanted(letter) || this.#over || !(await this.#isTurn())) return;
        await this.#redriveOne(letter, null);
      });
      for (const chain of this.#chains.all()) if (await this.#redriveChain(chain)) touched.add(nameOf(chain));
    } finally {
      // Also those before one that could not be redriven.
      if (this.#options.signal?.aborted !== true) await this.#comebacks.flush();
    }
    if (dryRun || touched.size === 0) return 0;
    if (this.#target === topic) return this.#release(touched);
    await endChains(this.#host, topic, (letter) => touched.has(keyName(letter)));
    return 0;
  }

  #isWanted(letter: Letter): boolean {
    const { ids } = this.#options;
    return (ids === undefined || ids.has(letter.id)) && fits(letter, this.#options);
  }

  get #over(): boolean {
    const { limit = Number.POSITIVE_INFINITY } = this.#options;
    return this.#isEnded || this.counts.redriven + this.#comebacks.waiting >= limit;
  }

  /** Whatever becomes of those that are on their way. */
  get #isEnded(): boolean {
    const { signal, limit = Number.POSITIVE_INFINITY } = this.#options;
    return signal?.aborted === true || this.counts.redriven >= limit;
  }

  /** Once the letter before has had its time. False if it was told to stop meanwhile. */
  async #isTurn(): Promise<boolean> {
    if (this.#hasToWait) await this.#keepPace(1);
    this.#hasToWait = false;
    return !this.#isEnded;
  }

  /** Letters that were not read yet: those of held keys join their chains, the others are for `take`. */
  async #read(take: (letter: Letter) => Promise<unknown>): Promise<void> {
    for await (const letter of lettersBehind(this.#host, this.#options.topic, this.#places)) {
      if (this.#isEnded) return;
      if (letter.hold === undefined) await take(letter);
      else this.#chains.add(letter);
    }
  }

  /**
   * Events that were on their way when the first letter came back have become letters too: brings these back, until the
   * keys are free. One that fails again is left to a person, and its key stays held.
   */
  async #release(touched: ReadonlySet<string>): Promise<number> {
    const { clock } = this.#host;
    const { topic, signal } = this.#options;
    for (let quietMs = clock.steady(); ; await pause(clock, LOOK_MS, signal)) {
      const { pending, held, worked } = await standingOf(this.#host, topic, [...this.#back.values()]);
      const left = [...touched].filter((name) => held.has(name));
      if (!pending && left.length === 0) return 0;
      await this.#read(() => Promise.resolve());
      const chains = this.#chains.all().filter((chain) => touched.has(nameOf(chain)));
      const going = chains.filter((chain) => this.#mayGo(turnsOf(chain)[0]?.letter));
      for (const chain of going) if (await this.#redriveChain(chain)) quietMs = clock.steady();
      const idle = worked.size === 0 || clock.steady() - quietMs > RELEASE_WAIT_MS;
      const stuck = !pending && going.length === 0 && chains.some((chain) => turnsOf(chain).length > 0);
      const over = signal?.aborted === true || (this.#over && !pending);
      if (idle || stuck || over) return left.length;
    }
  }

  /** Whether a letter that is the first of its chain only follows others, and is not known to stay. */
  #mayGo(first: HeldLetter | undefined): boolean {
    return first?.waiting === true && !this.#staying.has(first.id);
  }

  /** In order, up to the first one that is not to be redriven: what is behind it would only be held again. */
  async #redriveChain(chain: Chain): Promise<boolean> {
    let any = false;
    for (const { letter: place, turn } of turnsOf(chain)) {
      if (this.#over || !(await this.#isTurn())) break;
      const letter = await letterAt(this.#host, this.#options.topic, place);
      const turnHere = this.#target === this.#options.topic ? turn : null;
      const goes = letter !== null && this.#isWanted(letter) && (await this.#redriveOne(letter, turnHere));
      if (!goes) {
        this.#staying.add(place.id);
        break;
      }
      place.status = "redriven";
      any = true;
    }
    return any;
  }

  /** False if it was passed over. A letter of no chain may wait for others to go with. */
  async #redriveOne(letter: Letter, turn: Redriven | null): Promise<boolean> {
    const { transform, dryRun, rate } = this.#options;
    const untouched = letter.incomplete ? null : letter.event;
    const changed = transform === undefined ? untouched : transform(letter.event, letter);
    checkAnswer("transform", changed);
    const { log } = this.#host.store;
    const superseded = this.#compacted && (await isSuperseded(log, letter, this.#target));
    if (changed === null || superseded) {
      this.counts.passedOver++;
      if (superseded) this.counts.superseded++;
      return false;
    }
    if (dryRun) {
      await this.#tryOut(letter, changed);
      return true;
    }
    this.#comebacks.add(letter, changed, turn);
    // On a compacted topic each decides what the next one is held against.
    const alone = turn !== null || rate !== undefined || this.#compacted;
    const published = alone || this.#comebacks.isFull ? await this.#comebacks.flush() : [];
    if (turn !== null) this.#remember(letter.origin.group, published.at(-1));
    this.#hasToWait = rate !== undefined;
    return true;
  }

  #remember(group: string, back: EventRecord | undefined): void {
    if (back === undefined) return;
    const { partition, seq } = back;
    this.#back.set(`${group}\n${partition}`, { group, partition, seq });
  }

  async #tryOut(letter: Letter, changed: { payload: unknown; key?: string }): Promise<void> {
    const outcome = await tryOut(this.#host, { ...letter.event, ...changed }, this.#options);
    this.preview.push({ letter: letter.id, ...outcome });
    this.counts.redriven++;
    this.#options.onProgress?.(this.counts);
  }
}

function nameOf({ group, key }: Chain): string {
  return `${group}\n${key}`;
}

/** Runs the handler on one event without keeping what it writes. */
async function tryOut(
  host: Host,
  event: EventRecord,
  options: Redrive,
): Promise<{ error?: string; differences: DocumentDifference[] }> {
  if (options.handler === undefined) return { differences: [] };
  const pointers = new ViewPointers(host.store.registry, host.clock);
  const tableOf = (view: string): Promise<string> => pointers.current(view);
  const tx = new GatheredWrites(host.store.documents, { tableOf, ts: event.ts });
  try {
    await options.handler([event], tx);
  } catch (error) {
    return { error: BusError.from(error).message, differences: [] };
  }
  const differences = await tx.differences();
  return {
    differences: differences.filter(({ before, after }) => canonicalText(before) !== canonicalText(after)),
  };
}

async function audit(host: Host, options: Redrive, counts: Record<string, number | boolean>): Promise<void> {
  await host.store.registry.audit({
    atMs: host.clock.now(),
    actor: options.actor ?? "bus",
    action: "dead-letters.redrive",
    target: options.topic,
    details: { ...counts, to: options.to ?? options.topic },
  });
}
