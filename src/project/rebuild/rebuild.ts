/**
 * Rebuild: makes a view anew from its log beside the one in use, compares the two, and switches over in one write; the
 * old one stays for a way back. Readers notice nothing but the switch. Views that one projector keeps are made anew and
 * switched together.
 *
 *   building --caught up--> comparing --switch--> done
 */
import { pause } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { Stop } from "../../model/event-bus.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Handle } from "../../model/task.js";
import type { PartitionHead } from "../../ports/log.js";
import { removeGroup } from "../group-pause.js";
import { checkHost, type Host } from "../host.js";
import { checkChoice, checkObject, checkRange } from "../option-checks.js";
import { finiteTask } from "../running-task.js";
import { CHANGELOG_OPTIONS } from "../views/changelog.js";
import { type Projection, type ProjectorSource, projectionOf } from "../views/projection.js";
import { TRANSACTIONAL_OPTIONS } from "../views/transactional.js";
import { checkViewName } from "../views/view.js";
import type { ViewSource } from "../views/view-definitions.js";
import {
  buildName,
  movePointer,
  numberOf,
  readPointer,
  reserveBuild,
  sharePointer,
  suffixOf,
  type ViewPointer,
} from "../views/view-pointer.js";
import { BuildLetters } from "./build-letters.js";
import { checkFree } from "./rebuild-preview.js";
import { type Comparison, compareViews } from "./view-comparison.js";

/** How a view is built anew, and whether it takes the place of the one in use. */
export interface RebuildOptions<T = unknown> {
  /** What its changelog projector is told; known already of a projector that this process started. */
  readonly source?: ViewSource<T>;
  /** The same of a view that a transactional projector keeps. */
  readonly projector?: ProjectorSource<T>;
  /** "snapshot": fill it from the topic's snapshot and go on from there, where the view allows that. Default "log". */
  readonly from?: "log" | "snapshot";
  /**
   * False: build and compare, but leave the old view in use. Default true, unless the new build gave up events that the
   * old one has, or the view takes every event and the log no longer has them all.
   */
  readonly switch?: boolean;
  /** Differing documents to show, of each view. Default 20. */
  readonly samples?: number;
  readonly actor?: string;
}

/** What a rebuild came to: how the new view compares with the old one, and whether it is in use. */
export interface RebuildResult extends Comparison {
  readonly view: string;
  readonly from: string;
  readonly to: string;
  readonly switched: boolean;
  /** Events of the log that were removed: of a view that takes every event, the new one lacks them. */
  readonly gone: number;
  /** Events that the new build gave up, and the old one did not. */
  readonly givenUp: number;
  /** Other views that the same projector keeps: built with it, and switched with it in one write. */
  readonly others: readonly (Comparison & {
    readonly view: string;
    readonly from: string;
    readonly to: string;
  })[];
}

/** How far a rebuild is. */
export interface RebuildProgress {
  readonly [name: string]: unknown;
  readonly phase: "building" | "comparing" | "done";
  readonly events: number;
  readonly total: number;
  /** Seconds left at the present pace; null while that is not known. */
  readonly etaSeconds: number | null;
}

/** A rebuild under way: `stats()` tells how far it is, `result` what it came to, `stop()` gives it up. */
export interface RebuildHandle extends Handle<RebuildProgress> {
  readonly done: Promise<void>;
  readonly result: Promise<RebuildResult>;
}

const OPTIONS = namesOf<RebuildOptions>({
  source: true,
  projector: true,
  from: true,
  switch: true,
  samples: true,
  actor: true,
});
const LOOK_MS = 50;
/** A topic that is written to without a pause is never read to its end: to where it ended so long ago must do. */
const MOMENT_MS = 1_000;
const MAX_TRIES = 5;

/**
 * Builds a view anew beside the one in use, compares the two, and switches over in one write.
 *
 * @example
 * const rebuild = await rebuildView(bus, "processes");
 * console.log(await rebuild.result);
 */
export async function rebuildView<T>(
  host: Host,
  view: string,
  options: RebuildOptions<T> = {},
): Promise<RebuildHandle> {
  checkHost(host);
  checkViewName(view);
  checkOptions(options);
  const projection = await projectionOf(host, view, options);
  await checkFree(host, projection);
  const pointer = await reserveBuild(host.store.registry, projection.name);
  const rebuild = new Rebuild(host, view, projection, pointer, options);
  const { clock, tasks } = host;
  let outcome: RebuildResult | undefined;
  const name = `rebuild ${view}`;
  const handle = finiteTask(
    { kind: "rebuild", name, clock, board: tasks, stats: () => rebuild.progress() },
    async (signal) => {
      outcome = await rebuild.run(signal);
    },
  );
  const result = handle.done.then(() => outcome as RebuildResult);
  result.catch(() => undefined);
  return { ...handle, result };
}

function checkOptions<T>(options: RebuildOptions<T>): void {
  checkObject("rebuildView", options);
  checkOptionNames("rebuildView", options, OPTIONS);
  checkOptionNames("the source of a view", options.source ?? {}, CHANGELOG_OPTIONS);
  checkOptionNames("the projector of a view", options.projector ?? {}, TRANSACTIONAL_OPTIONS);
  checkChoice("from", options.from, ["log", "snapshot"]);
  checkRange("samples", options.samples, 0);
}

/** Where the topic ended at a time. */
interface Goal {
  readonly heads: readonly PartitionHead[];
  readonly atMs: number;
}

class Rebuild {
  readonly #host: Host;
  readonly #view: string;
  readonly #projection: Projection;
  readonly #pointer: ViewPointer;
  readonly #options: Omit<RebuildOptions, "source" | "projector">;
  readonly #startMs: number;
  readonly #stats = { events: 0 };
  #phase: RebuildProgress["phase"] = "building";
  #total = 0;
  #gone = 0;
  #givenUp = 0;

  constructor(
    host: Host,
    view: string,
    projection: Projection,
    pointer: ViewPointer,
    options: Omit<RebuildOptions, "source" | "projector">,
  ) {
    this.#host = host;
    this.#view = view;
    this.#projection = projection;
    this.#pointer = pointer;
    this.#options = options;
    this.#startMs = host.clock.steady();
  }

  progress(): RebuildProgress {
    const { events } = this.#stats;
    const seconds = (this.#host.clock.steady() - this.#startMs) / 1_000;
    const left = Math.max(0, this.#total - events);
    const etaSeconds =
      this.#phase === "done" ? 0 : events === 0 ? null : Math.round((left / events) * seconds);
    return { phase: this.#phase, events, total: this.#total, etaSeconds };
  }

  async run(signal: AbortSignal): Promise<RebuildResult> {
    const { number } = this.#pointer;
    const build = buildName(this.#projection.name, number);
    let feeding: Stop = () => Promise.resolve();
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> => (stopped ??= feeding());
    const group = this.#projection.group(build);
    const letters = await BuildLetters.of(this.#host, this.#projection.topic, group);
    let switched = false;
    let kept = false;
    try {
      if (this.#options.from === "snapshot") this.#stats.events += await this.#projection.warm(build, signal);
      feeding = await this.#projection.feed(build, this.#stats);
      await this.#caughtUp(group, signal);
      this.#phase = "comparing";
      const compared = await this.#compare(build, signal);
      this.#givenUp = await letters.missing(this.#projection.group(this.#pointer.current));
      const isWhole = this.#givenUp === 0 && (this.#gone === 0 || !this.#projection.needsAllEvents);
      const { switch: wanted = isWhole } = this.#options;
      if (wanted) await this.#switch(build, compared, stop);
      switched = wanted;
      kept = true;
      this.#phase = "done";
      return this.#result(build, switched, compared);
    } finally {
      await stop();
      // Nobody goes on with it, and a group that stands still would hold retention back.
      if (!switched && (kept || !(await this.#hasCounted(build)))) {
        await (kept ? this.#removeGroup(build) : this.#remove(build));
        await letters.discard();
      }
    }
  }

  /** What failed may have been no more than the answer of the switch, or what comes behind it. */
  async #hasCounted(build: string): Promise<boolean> {
    const { current, previous } = await readPointer(this.#host.store.registry, this.#projection.name);
    return current === build || previous === build;
  }

  /** Tables and group of a build. */
  async #remove(build: string): Promise<void> {
    await this.#removeGroup(build);
    for (const view of await this.#projection.views())
      await this.#host.store.documents.drop(this.#tableOf(view, build));
  }

  async #removeGroup(build: string): Promise<void> {
    const { topic } = this.#projection;
    await removeGroup(this.#host.store, { topic, group: this.#projection.group(build) });
  }

  async #caughtUp(group: string, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#host;
    const { topic } = this.#projection;
    for (let goal: Goal | undefined; ; ) {
      if (signal.aborted)
        throw new BusError("ABORTED", `the rebuild of ${this.#view} was stopped; the old view is in use`);
      await this.#pointerNow();
      const atMs = clock.steady();
      const heads = await store.log.heads(topic);
      this.#total = heads.reduce((sum, { events }) => sum + events, 0);
      this.#gone = heads.reduce((sum, { head }) => sum + head, 0) - this.#total;
      const state = await store.groups.state({ topic, group }, { nowMs: clock.now() });
      const floors = new Map(state?.leases.map(({ partition, cursor }) => [partition, cursor.floor]));
      const isAt = (end: Goal["heads"]): boolean =>
        end.every(({ partition, head }) => (floors.get(partition) ?? 0) >= head);
      goal ??= { heads, atMs };
      if (isAt(heads) || (isAt(goal.heads) && clock.steady() - goal.atMs < MOMENT_MS)) return;
      if (isAt(goal.heads)) goal = { heads, atMs };
      await pause(clock, LOOK_MS, signal);
    }
  }

  async #compare(build: string, signal: AbortSignal): Promise<Map<string, Comparison>> {
    const { documents } = this.#host.store;
    const compared = new Map<string, Comparison>();
    for (const view of await this.#projection.views()) {
      const [from, to] = [this.#tableOf(view, this.#pointer.current), this.#tableOf(view, build)];
      compared.set(view, await compareViews(documents, from, to, this.#options.samples ?? 20, signal));
    }
    return compared;
  }

  /** One write; then what no way leads back to any more goes. What comes now is left to the projector, with its effects. */
  async #switch(
    build: string,
    compared: ReadonlyMap<string, Comparison>,
    stop: () => Promise<void>,
  ): Promise<void> {
    const { registry } = this.#host.store;
    const { name } = this.#projection;
    const { current } = this.#pointer;
    for (const view of compared.keys()) if (view !== name) await sharePointer(registry, view, name);
    await stop();
    const replayed = await this.#projection.replayed(build);
    await untilDone(async () => {
      const now = await this.#pointerNow();
      const { number } = now;
      await movePointer(registry, name, now, { current: build, previous: current, number, replayed });
    });
    for (const [view, { samples: _, ...counts }] of compared) {
      const details = { from: this.#tableOf(view, current), to: this.#tableOf(view, build), ...counts };
      const { actor = "bus" } = this.#options;
      const atMs = this.#host.clock.now();
      await registry.audit({ atMs, actor, action: "view.rebuild", target: view, details });
    }
    await this.#removeOlder();
  }

  /** Whoever switches first wins; the others have compared with what no longer counts. */
  async #pointerNow(): Promise<ViewPointer> {
    const now = await readPointer(this.#host.store.registry, this.#projection.name);
    if (now.current === this.#pointer.current) return now;
    throw new BusError(
      "WRITE_CONFLICT",
      `the view ${this.#view} was rebuilt or rolled back by somebody else meanwhile; theirs is in use`,
    );
  }

  /** The build before the one before, and what rebuilds left behind that never came to count, or came to no end. */
  async #removeOlder(): Promise<void> {
    const { documents, groups } = this.#host.store;
    const { name, topic } = this.#projection;
    const views = await this.#projection.views();
    const tables = new Set((await documents.views()).map(({ view }) => view));
    const fed = new Set((await groups.list(topic)).map(({ group }) => group));
    const counted = numberOf(this.#pointer.current, name);
    for (let number = 1; number < this.#pointer.number; number++) {
      const build = buildName(name, number);
      const isThere =
        fed.has(this.#projection.group(build)) ||
        views.some((view) => tables.has(this.#tableOf(view, build)));
      if (isThere && number !== counted) await this.#remove(build);
    }
  }

  #result(build: string, switched: boolean, compared: ReadonlyMap<string, Comparison>): RebuildResult {
    const all = [...compared].map(([view, comparison]) => {
      const [from, to] = [this.#tableOf(view, this.#pointer.current), this.#tableOf(view, build)];
      return { view, from, to, ...comparison };
    });
    const own = all.find(({ view }) => view === this.#view);
    if (own === undefined)
      throw new BusError("NOT_FOUND", `its projector does not keep a view ${this.#view}`);
    return {
      ...own,
      switched,
      gone: this.#gone,
      givenUp: this.#givenUp,
      others: all.filter((one) => one !== own),
    };
  }

  #tableOf(view: string, build: string): string {
    return view + suffixOf(build, this.#projection.name);
  }
}

/** Again when the pointer was written in between, for a build that only begins: what matters is looked at each time. */
async function untilDone(move: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await move();
    } catch (error) {
      if (!BusError.is(error, "WRITE_CONFLICT") || tries >= MAX_TRIES) throw error;
    }
  }
}
