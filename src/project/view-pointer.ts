/**
 * Which table a view's name stands for. A view that was never rebuilt is kept under its own name; a rebuilt one under
 * name and number, and a pointer in the registry says which one counts. Moving the pointer is one write, so every
 * reader sees the old view or the new one, never a mixture.
 */
import type { Clock } from "../model/clock.js";
import type { Registry } from "../ports/registry.js";

export interface ViewPointer {
  readonly current: string;
  /** What counted before, kept for a way back. */
  readonly previous: string | null;
  /** Of the newest build. */
  readonly number: number;
  /** Revision of the registry's entry; 0 if there is none. */
  readonly revision: number;
}

/** How long a reader may go on with what it knows. */
const FRESH_MS = 500;

export async function readPointer(registry: Registry, view: string): Promise<ViewPointer> {
  const token = await registry.token(tokenName(view));
  if (token === null) return { current: view, previous: null, number: 1, revision: 0 };
  const value = token.value as { current: string; previous: string | null; number: number };
  return { ...value, revision: token.revision };
}

/** WRITE_CONFLICT if somebody else moved it since it was read. */
export async function movePointer(
  registry: Registry,
  view: string,
  from: ViewPointer,
  to: Omit<ViewPointer, "revision">,
): Promise<void> {
  const { current, previous, number } = to;
  await registry.putToken(tokenName(view), { current, previous, number }, { expected: from.revision });
}

/** The name of the `number`-th build. */
export function buildName(view: string, number: number): string {
  return number === 1 ? view : `${view}__${number}`;
}

/** Pointers as readers use them: looked up again now and then, not at each read. */
export class ViewPointers {
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly current: string; readonly readMs: number }>();

  constructor(registry: Registry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  async current(view: string): Promise<string> {
    const known = this.#known.get(view);
    const nowMs = this.#clock.steady();
    if (known !== undefined && nowMs - known.readMs < FRESH_MS) return known.current;
    const { current } = await readPointer(this.#registry, view);
    this.#known.set(view, { current, readMs: nowMs });
    return current;
  }

  /** It was moved here: the next read looks. */
  forget(view: string): void {
    this.#known.delete(view);
  }
}

function tokenName(view: string): string {
  return `view-pointer:${view}`;
}
