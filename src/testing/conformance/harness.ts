/**
 * Where the cases get their stores from. What a store does not claim selects the paired statement here, so that no
 * case is ever skipped: a store without a second handle must say that it is not shared, and is then used by both
 * sides of the case through its one handle.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { Store } from "../../ports/store.js";
import type { StoreFixture, StoreUnderTest } from "./fixture.js";

export class Harness {
  #subject: StoreUnderTest | undefined;
  #second: Store | undefined;
  #store: Store | undefined;

  get store(): Store {
    if (this.#store === undefined) throw new Error("no store yet: use it inside a case");
    return this.#store;
  }

  get subject(): StoreUnderTest {
    if (this.#subject === undefined) throw new Error("no store yet: use it inside a case");
    return this.#subject;
  }

  /** Another process's view of the same data; for a store of one process, the one handle there is. */
  async second(): Promise<Store> {
    const { another } = this.subject;
    expect(another !== undefined, "brings `another` if and only if it is sharedByProcesses").toBe(
      this.store.capabilities.sharedByProcesses,
    );
    if (another === undefined) return this.store;
    this.#second ??= await another();
    return this.#second;
  }

  /** The same data after a restart, or null from a store that says it is not durable. */
  async reopened(): Promise<Store | null> {
    const { reopen } = this.subject;
    expect(reopen !== undefined, "brings `reopen` if and only if it is durable").toBe(
      this.store.capabilities.durable,
    );
    if (reopen === undefined) return null;
    this.#store = await reopen();
    this.#second = undefined;
    return this.#store;
  }

  async begin(fixture: StoreFixture): Promise<void> {
    this.#subject = await fixture.create();
    this.#store = this.#subject.store;
  }

  async end(): Promise<void> {
    const subject = this.#subject;
    this.#subject = undefined;
    this.#second = undefined;
    this.#store = undefined;
    await subject?.dispose();
  }
}

/** One store for all cases of the enclosing block: they keep apart by names. */
export function sharedStore(fixture: StoreFixture): Harness {
  const harness = new Harness();
  beforeAll(() => harness.begin(fixture));
  afterAll(() => harness.end());
  return harness;
}

/** A new store for each case of the enclosing block. */
export function freshStore(fixture: StoreFixture): Harness {
  const harness = new Harness();
  beforeEach(() => harness.begin(fixture));
  afterEach(() => harness.end());
  return harness;
}
