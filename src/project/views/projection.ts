/**
 * What makes views, as far as a rebuild needs to know: a changelog projector makes one view of the newest event of each
 * key, a transactional projector keeps any number of views together and has to see every event.
 */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import type { Stop } from "../../model/event-bus.js";
import { topicName } from "../../model/topic.js";
import type { Host } from "../host.js";
import { FedBuild, type Floors, floorsOf } from "./build-effects.js";
import { feedView, groupOf } from "./changelog.js";
import { buildGroup, type Keeper, keeperName, keeperOf, knownKeeper, viewsOf } from "./kept-views.js";
import type { TransactionalOptions } from "./transactional.js";
import { feedBuild } from "./transactional-build.js";
import { type ViewSource, viewSource } from "./view-definitions.js";
import { numberOf, type ViewPointer } from "./view-pointer.js";
import { warmTable } from "./warm.js";

export interface Projection {
  readonly topic: string;
  /** The name of its pointer, of which builds are named. */
  readonly name: string;
  /** Whether an event that was removed from the log is missing in what it builds. */
  readonly needsAllEvents: boolean;
  group(build: string): string;
  /** What is built together, as far as it is known by now. */
  views(): Promise<readonly string[]>;
  /** Fills a build from the topic's snapshot, and says how many entries that took. */
  warm(build: string, signal: AbortSignal): Promise<number>;
  /** Builds from the log, without effects elsewhere, and counts. */
  feed(build: string, stats: { events: number }): Promise<Stop>;
  /** How far a build has come that nobody feeds now, where that matters for effects elsewhere. */
  replayed(build: string): Promise<ViewPointer["replayed"]>;
}

/** What a transactional projector is told, for a process that does not run it. */
export type ProjectorSource<T = unknown> = Pick<
  TransactionalOptions<T>,
  "topic" | "group" | "handler" | "batchSize" | "session"
>;

/** By what is handed in, by what this process runs, or by what is written down. */
export async function projectionOf<T>(
  host: Host,
  view: string,
  given: { readonly source?: ViewSource<T>; readonly projector?: ProjectorSource<T> },
): Promise<Projection> {
  if (given.projector !== undefined) return new KeptViews(host, given.projector);
  if (given.source !== undefined) return new ChangelogView(host, view, given.source);
  const keeper = await keeperOf(host.store.registry, view);
  if (keeper === null) return new ChangelogView(host, view, await viewSource<T>(host, view));
  const projector = knownKeeper(host, keeper);
  if (projector !== undefined) return new KeptViews(host, projector);
  throw new BusError(
    "UNSUPPORTED",
    `the view ${view} is kept by code of another process, as group ${keeper.group} of ${keeper.topic}: hand its projector in`,
  );
}

class ChangelogView<T> implements Projection {
  readonly needsAllEvents = false;
  readonly name: string;
  readonly #host: Host;
  readonly #source: ViewSource<T>;

  constructor(host: Host, view: string, source: ViewSource<T>) {
    this.#host = host;
    this.name = view;
    this.#source = source;
  }

  get topic(): string {
    return topicName(this.#source.topic);
  }

  group(build: string): string {
    return groupOf(this.name, build, this.#source.group);
  }

  async views(): Promise<readonly string[]> {
    return [this.name];
  }

  async warm(build: string, signal: AbortSignal): Promise<number> {
    const { entries } = await warmTable(this.#host, build, this.group(build), { ...this.#source, signal });
    return entries;
  }

  feed(build: string, stats: { events: number }): Promise<Stop> {
    const counts = Object.assign(stats, { applied: 0, stale: 0, passedOver: 0 });
    return feedView(this.#host, build, this.group(build), { ...this.#source, view: build }, counts);
  }

  async replayed(): Promise<undefined> {
    return undefined;
  }
}

/** The first parts of a list, by partition. */
function listed(floors: Floors): Seq[] {
  return Array.from(
    { length: Math.max(-1, ...floors.keys()) + 1 },
    (_, partition) => floors.get(partition) ?? 0,
  );
}

class KeptViews<T> implements Projection {
  readonly needsAllEvents = true;
  readonly #host: Host;
  readonly #projector: ProjectorSource<T>;

  constructor(host: Host, projector: ProjectorSource<T>) {
    this.#host = host;
    this.#projector = projector;
  }

  get topic(): string {
    return topicName(this.#projector.topic);
  }

  get #keeper(): Keeper {
    return { topic: this.topic, group: this.#projector.group };
  }

  get name(): string {
    return keeperName(this.#keeper);
  }

  group(build: string): string {
    return buildGroup(this.#keeper, build);
  }

  views(): Promise<readonly string[]> {
    return viewsOf(this.#host.store.registry, this.#keeper);
  }

  async warm(): Promise<number> {
    throw new BusError(
      "INVALID_OPTION",
      "a view kept by a transactional projector takes every event: it cannot be made from a snapshot",
    );
  }

  async feed(build: string, stats: { events: number }): Promise<Stop> {
    const counts = Object.assign(stats, { commits: 0, conflicts: 0 });
    // The build before the present one is needed until then, and only one is kept.
    if (!(await new FedBuild(this.#host, this.#keeper).leftBehind()))
      throw new BusError(
        "WRITE_CONFLICT",
        `${this.#projector.group} has not caught up with the last rebuild yet: start it, or roll back, before another one`,
      );
    return feedBuild(this.#host, { projector: this.#projector, build, replaying: true, stats: counts });
  }

  async replayed(build: string): Promise<ViewPointer["replayed"]> {
    const floors = await floorsOf(this.#host, this.#keeper, build);
    return { number: numberOf(build, this.name), floors: listed(floors ?? new Map()) };
  }
}
