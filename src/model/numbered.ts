/**
 * Things under numbers that only grow, each taken out once, about in the order in which they came: calls that wait for their
 * answers. A Map that fills and empties all the time is made anew again and again, and what it was before still points at
 * what it held, and at what it became: one of these among the old objects is enough to keep all that follow from being
 * collected with the young ones.
 */
export class Numbered<T> {
  /** The first has number `#first`; those that were taken out leave a hole. */
  #items: (T | undefined)[] = [];
  #first = 0;
  /** Holes at the front. */
  #gone = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** `number` must be above all that were added before. */
  add(number: number, item: T): void {
    if (this.#size === 0) this.#first = number;
    while (this.#items.length < number - this.#first) this.#items.push(undefined);
    this.#items.push(item);
    this.#size++;
  }

  take(number: number): T | undefined {
    const at = number - this.#first;
    const item = this.#items[at];
    if (item === undefined) return undefined;
    this.#items[at] = undefined;
    this.#size--;
    this.#closeUp();
    return item;
  }

  /** All of them, first come first. */
  takeAll(): T[] {
    const all = this.#items.filter((item) => item !== undefined);
    this.#size = 0;
    this.#closeUp();
    return all;
  }

  /** In lumps, so that it costs next to nothing for each. */
  #closeUp(): void {
    if (this.#size === 0) {
      this.#items = [];
      this.#gone = 0;
      return;
    }
    while (this.#items[this.#gone] === undefined) this.#gone++;
    if (this.#gone < this.#items.length / 2) return;
    this.#items.splice(0, this.#gone);
    this.#first += this.#gone;
    this.#gone = 0;
  }
}
