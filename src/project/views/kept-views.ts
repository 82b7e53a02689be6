/**
 * Which views a transactional projector keeps. Its name is written down beside each view when it is first written to, so
 * that the view can be rebuilt, with all others of that projector, by its name alone. A view belongs to the first who
 * wrote it down; others read and write it where it counts.
 */
import { BusError } from "../../model/errors.js";
import { topicName } from "../../model/topic.js";
import type { Registry } from "../../ports/registry.js";
import type { Host } from "../host.js";
import type { TableOf } from "./transaction.js";
import type { TransactionalOptions } from "./transactional.js";
import { removeToken, sharePointer, suffixOf, ViewPointers } from "./view-pointer.js";

/** A transactional projector, by what it is known to every process. */
export interface Keeper {
  readonly topic: string;
  readonly group: string;
}

const PREFIX = "kept-view:";

/** By the board that all buses of one core share. */
const known = new WeakMap<Host["tasks"], Map<string, TransactionalOptions>>();

/** The name its pointer goes by. */
export function keeperName({ topic, group }: Keeper): string {
  return `transactional:${topic}:${group}`;
}

/** The group that feeds a build. */
export function buildGroup(keeper: Keeper, build: string): string {
  return keeper.group + suffixOf(build, keeperName(keeper));
}

/** Keeps at hand how a projector of this process makes its views. */
export function rememberKeeper<T>(host: Host, options: TransactionalOptions<T>): void {
  const keepers = known.get(host.tasks) ?? new Map<string, TransactionalOptions>();
  const name = keeperName({ topic: topicName(options.topic), group: options.group });
  known.set(host.tasks, keepers.set(name, options as TransactionalOptions));
}

export function knownKeeper(host: Host, keeper: Keeper): TransactionalOptions | undefined {
  return known.get(host.tasks)?.get(keeperName(keeper));
}

export async function keeperOf(registry: Registry, view: string): Promise<Keeper | null> {
  const token = await registry.token(PREFIX + view);
  return (token?.value as unknown as Keeper | undefined) ?? null;
}

/** All that have written to a view; once for each view. */
export async function keepers(registry: Registry): Promise<Keeper[]> {
  return [...(await registry.tokens(PREFIX)).values()].map(({ value }) => value as unknown as Keeper);
}

/** Every view that was ever written to by this projector, sorted. */
export async function viewsOf(registry: Registry, keeper: Keeper): Promise<string[]> {
  const tokens = await registry.tokens(PREFIX);
  return [...tokens]
    .filter(([, { value }]) => isSame(value as unknown as Keeper, keeper))
    .map(([name]) => name.slice(PREFIX.length))
    .sort();
}

/** The view belongs to nobody any more. */
export function forgetKeeper(registry: Registry, view: string): Promise<void> {
  return removeToken(registry, PREFIX + view);
}

function isSame(a: Keeper, b: Keeper): boolean {
  return a.topic === b.topic && a.group === b.group;
}

/** Where one build of a projector's views is kept. */
export class BuildTables {
  readonly #registry: Registry;
  readonly #keeper: Keeper;
  readonly #suffix: string;
  readonly #pointers: ViewPointers;
  readonly #own = new Map<string, boolean>();
  readonly #noted = new Set<string>();

  constructor({ store, clock }: Host, keeper: Keeper, suffix: string) {
    this.#registry = store.registry;
    this.#keeper = keeper;
    this.#suffix = suffix;
    this.#pointers = new ViewPointers(store.registry, clock);
  }

  readonly tableOf: TableOf = async (view) => {
    const own = this.#own.get(view) ?? (await this.#isOwn(view));
    return own ? view + this.#suffix : this.#pointers.current(view);
  };

  /** Of views that were noted. */
  readonly owns = (view: string): boolean => this.#own.get(view) ?? false;

  /** To be called before views are written to. */
  async note(views: readonly string[]): Promise<void> {
    for (const view of views) if (!this.#noted.has(view)) await this.#note(view);
  }

  async #note(view: string): Promise<void> {
    if (await this.#isOwn(view)) {
      const { topic, group } = this.#keeper;
      try {
        await this.#registry.putToken(PREFIX + view, { topic, group }, { expected: 0 });
      } catch (error) {
        // It is noted already.
        if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
      }
    }
    // Asked once more, since another may have been first. Until then what is known stays: other partitions go by it.
    if ((await this.#isOwn(view)) && this.#suffix !== "")
      await sharePointer(this.#registry, view, keeperName(this.#keeper));
    this.#noted.add(view);
  }

  /** What nobody keeps yet is as good as its own. */
  async #isOwn(view: string): Promise<boolean> {
    const keeper = await keeperOf(this.#registry, view);
    const isOthers =
      keeper === null ? (await this.#registry.token(`view:${view}`)) !== null : !isSame(keeper, this.#keeper);
    this.#own.set(view, !isOthers);
    return !isOthers;
  }
}
