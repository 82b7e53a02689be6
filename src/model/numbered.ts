/**
 * Things under numbers that only grow, each taken out once, about in the order in which they came: calls that wait for their
 * answers. A Map that fills and empties all the time is made anew again and again, and what it was before still points at
 * what it held, and at what it became: one of these among the old objects is enough to keep all that follow from being
 * collected with the young ones. So here they stand in a ring. One that stays while the ring goes round is put aside.
 */
export class Numbered<T> {
  #ring: Ring<T> = new Ring(SMALLEST);
  readonly #aside = new Map<number, T>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** `number` must be above all that were added before. */
  add(number: number, item: T): void {
    if (this.#size * 2 >= this.#ring.slots) this.#grow();
    const older = this.#ring.put(number, item);
    if (older !== undefined) this.#aside.set(older.number, older.item);
    this.#size++;
  }

  get(number: number): T | undefined {
    return this.#ring.get(number) ?? this.#aside.get(number);
  }

  take(number: number): T | undefined {
    const item = this.#ring.take(number) ?? this.#takeAside(number);
    if (item !== undefined) this.#size--;
    return item;
  }

  /** All of them, first come first. */
  all(): T[] {
    const aside = [...this.#aside].map(([number, item]) => ({ number, item }));
    return [...aside, ...this.#ring.all()].sort((a, b) => a.number - b.number).map(({ item }) => item);
  }

  /** As `all`, and none is left. */
  takeAll(): T[] {
    const all = this.all();
    this.#ring = new Ring(SMALLEST);
    this.#aside.clear();
    this.#size = 0;
    return all;
  }

  /** Takes out all for which it holds. */
  takeWhere(holds: (item: T) => boolean): T[] {
    const entries = [...this.#aside].map(([number, item]) => ({ number, item })).concat(this.#ring.all());
    return entries.flatMap(({ number, item }) =>
      holds(item) && this.take(number) !== undefined ? [item] : [],
    );
  }

  #takeAside(number: number): T | undefined {
    const item = this.#aside.get(number);
    if (item !== undefined) this.#aside.delete(number);
    return item;
  }

  #grow(): void {
    const smaller = this.#ring;
    this.#ring = new Ring(smaller.slots * 2);
    for (const { number, item } of smaller.all()) this.#ring.put(number, item);
  }
}

const SMALLEST = 64;

interface Entry<T> {
  readonly number: number;
  readonly item: T;
}

/** Each number has one slot, which it shares with every `slots`-th other. */
class Ring<T> {
  readonly slots: number;
  readonly #numbers: number[];
  readonly #items: (T | undefined)[];

  /** `slots` is a power of two. */
  constructor(slots: number) {
    this.slots = slots;
    this.#numbers = new Array<number>(slots).fill(-1);
    this.#items = new Array<T | undefined>(slots).fill(undefined);
  }

  /** What had the slot until now. */
  put(number: number, item: T): Entry<T> | undefined {
    const at = number & (this.slots - 1);
    const older = this.#items[at];
    const last = this.#numbers[at] as number;
    this.#numbers[at] = number;
    this.#items[at] = item;
    return older === undefined ? undefined : { number: last, item: older };
  }

  get(number: number): T | undefined {
    const at = number & (this.slots - 1);
    return this.#numbers[at] === number ? this.#items[at] : undefined;
  }

  take(number: number): T | undefined {
    const item = this.get(number);
    if (item !== undefined) this.#items[number & (this.slots - 1)] = undefined;
    return item;
  }

  all(): Entry<T>[] {
    return this.#items.flatMap((item, at) =>
      item === undefined ? [] : [{ number: this.#numbers[at] as number, item }],
    );
  }
}
