/**
 * A map of things that pass through, at most so many at a time. A Map that fills and empties all the time is made anew again and
 * again inside, and what it was before points at what it became: one of these among the old objects is enough to
 * keep all that follow from being collected with the young ones. This one is really made anew, before long: what is
 * still there then goes along. Its things have no order.
 */
const FEWEST = 256;

export class PassingMap<K, V> {
  #young = new Map<K, V>();
  /** From before the last turn. */
  #old = new Map<K, V>();
  #untilTurn = FEWEST;

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: K): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: K, value: V): void {
    if (--this.#untilTurn < 0) this.#turn();
    // After the turn: what was young until now may have it.
    if (this.#old.size > 0) this.#old.delete(key);
    this.#young.set(key, value);
  }

  delete(key: K): boolean {
    return this.#young.delete(key) || this.#old.delete(key);
  }

  *[Symbol.iterator](): IterableIterator<[K, V]> {
    yield* this.#old;
    yield* this.#young;
  }

  #turn(): void {
    const oldest = this.#old;
    this.#old = this.#young;
    this.#young = new Map(oldest);
    this.#untilTurn = Math.max(FEWEST, 2 * this.size);
  }
}
