/**
 * Which table a view's name stands for. A view that was never rebuilt is kept under its own name; a rebuilt one under
 * name and number, and a pointer in the registry says which one counts. Moving the pointer is one write, so every
 * reader sees the old view or the new one, never a mixture. Views that one projector keeps together share a pointer,
 * which stands under the projector's name: they are switched together.
 */
import type { Clock } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import type { Registry } from "../../ports/registry.js";

export interface ViewPointer {
  readonly current: string;
  /** What counted before, kept for a way back. */
  readonly previous: string | null;
  /** Of the newest build, which may be under way. */
  readonly number: number;
  /** Of the newest build that came to count: how far it took events in without effects elsewhere, by partition. */
  readonly replayed?: { readonly number: number; readonly floors: readonly Seq[] } | undefined;
  /** Revision of the registry's entry; 0 if there is none. */
  readonly revision: number;
  /** Under which name the pointer is kept: the view's own, or that of the projector that keeps it with others. */
  readonly owner: string;
}

/** What a pointer says; or whose pointer counts. */
type StoredPointer = Target | { readonly with: string };

/** Where a pointer is moved to. */
type Target = Pick<ViewPointer, "current" | "previous" | "number" | "replayed">;

/** How long a reader may go on with what it knows, of pointers that other processes move. */
const FRESH_MS = 500;

/** How often pointers were moved in this process: its readers see that at once. */
const moves = new WeakMap<Registry, number>();

export async function readPointer(registry: Registry, view: string): Promise<ViewPointer> {
  const token = await registry.token(tokenName(view));
  if (token === null) return { current: view, previous: null, number: 1, revision: 0, owner: view };
  const value = token.value as unknown as StoredPointer;
  if (!("with" in value)) return { ...value, revision: token.revision, owner: view };
  const { current, previous, ...shared } = await readPointer(registry, value.with);
  const named = (build: string): string => view + suffixOf(build, shared.owner);
  return { ...shared, current: named(current), previous: previous && named(previous) };
}

/** WRITE_CONFLICT if somebody else moved it since it was read. */
export async function movePointer(
  registry: Registry,
  view: string,
  from: ViewPointer,
  to: Target,
): Promise<void> {
  const named = (build: string): string => from.owner + suffixOf(build, view);
  const value = {
    current: named(to.current),
    previous: to.previous && named(to.previous),
    number: to.number,
    ...(to.replayed && { replayed: to.replayed }),
  };
  await registry.putToken(tokenName(from.owner), value, { expected: from.revision });
  noteMove(registry);
}

/**
 * Takes the number of a new build for its caller alone: two who rebuild the same view at the same time must not write
 * into each other's tables. Returns the pointer as it is now.
 */
export async function reserveBuild(registry: Registry, view: string): Promise<ViewPointer> {
  for (;;) {
    const pointer = await readPointer(registry, view);
    const number = pointer.number + 1;
    try {
      await movePointer(registry, view, pointer, { ...pointer, number });
      return { ...pointer, number, revision: pointer.revision + 1 };
    } catch (error) {
      if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
    }
  }
}

function noteMove(registry: Registry): void {
  moves.set(registry, (moves.get(registry) ?? 0) + 1);
}

/** From now on the view goes with the pointer of this projector. Changes nothing as long as that one was never moved. */
export async function sharePointer(registry: Registry, view: string, owner: string): Promise<void> {
  const token = await registry.token(tokenName(view));
  if ((token?.value as { with?: string } | undefined)?.with === owner) return;
  try {
    await registry.putToken(tokenName(view), { with: owner }, { expected: token?.revision ?? 0 });
    noteMove(registry);
  } catch (error) {
    // Another process of the same projector was first.
    if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
  }
}

/** The pointer of a view, or of a projector, that is no more. */
export async function removePointer(registry: Registry, owner: string): Promise<void> {
  await removeToken(registry, tokenName(owner));
  noteMove(registry);
}

/** Whoever writes it at the same time is last. */
export async function removeToken(registry: Registry, name: string): Promise<void> {
  const token = await registry.token(name);
  if (token !== null) await registry.putToken(name, null, { expected: token.revision });
}

/** The name of the `number`-th build. */
export function buildName(view: string, number: number): string {
  return number === 1 ? view : `${view}__${number}`;
}

/** Whether a name is that of a build other than the first. */
export function isBuildName(name: string): boolean {
  return /__(?:[2-9]|[1-9]\d+)$/.test(name);
}

/** The view that a table is a build of. */
export function viewOfBuild(table: string): string {
  return isBuildName(table) ? table.slice(0, table.lastIndexOf("__")) : table;
}

/** Which build of `name` it is. */
export function numberOf(build: string, name: string): number {
  const suffix = suffixOf(build, name);
  return suffix === "" ? 1 : Number(suffix.slice(2));
}

/** What a build's name has beyond the name it is a build of: nothing, or its number. */
export function suffixOf(build: string, name: string): string {
  return build.slice(name.length);
}

/** Pointers as readers use them: looked up again now and then, not at each read. */
export class ViewPointers {
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly current: string; readonly readMs: number }>();
  #moves = 0;

  constructor(registry: Registry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  async current(view: string): Promise<string> {
    const moved = moves.get(this.#registry) ?? 0;
    if (moved !== this.#moves) this.#known.clear();
    this.#moves = moved;
    const known = this.#known.get(view);
    const nowMs = this.#clock.steady();
    if (known !== undefined && nowMs - known.readMs < FRESH_MS) return known.current;
    const { current } = await readPointer(this.#registry, view);
    // Unless it was moved while it was read.
    if (moved === (moves.get(this.#registry) ?? 0)) this.#known.set(view, { current, readMs: nowMs });
    return current;
  }
}

const PREFIX = "view-pointer:";

function tokenName(view: string): string {
  return PREFIX + view;
}

/** By the name of the pointer, the build that counted before. */
export async function previousBuilds(registry: Registry): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const [name, { value }] of await registry.tokens(PREFIX)) {
    const { previous } = value as Partial<Target>;
    if (typeof previous === "string") found.set(name.slice(PREFIX.length), previous);
  }
  return found;
}
