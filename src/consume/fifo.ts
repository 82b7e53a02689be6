/** First in, first out, in a ring: nothing is moved or made while as many come as go. */
const SMALLEST = 16;
/** A ring that was larger than this is given up once it is empty. */
const KEPT = 4_096;

export class Fifo<T> {
  #ring: (T | undefined)[] = [];
  #front = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[(this.#front + this.#length) & (this.#ring.length - 1)] = item;
    this.#length++;
  }

  peek(): T | undefined {
    return this.#length === 0 ? undefined : this.#ring[this.#front];
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#ring[this.#front];
    this.#ring[this.#front] = undefined;
    this.#front = (this.#front + 1) & (this.#ring.length - 1);
    this.#length--;
    if (this.#length === 0 && this.#ring.length > KEPT) this.clear();
    return item;
  }

  clear(): void {
    this.#ring = [];
    this.#front = 0;
    this.#length = 0;
  }

  /** In order, front first. */
  forEach(visit: (item: T) => void): void {
    for (let i = 0; i < this.#length; i++) visit(this.#at(i));
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.#length; i++) yield this.#at(i);
  }

  #at(index: number): T {
    return this.#ring[(this.#front + index) & (this.#ring.length - 1)] as T;
  }

  /** The number of places is a power of two, so that going round is a matter of bits. */
  #grow(): void {
    const larger = new Array<T | undefined>(Math.max(SMALLEST, this.#ring.length * 2));
    for (let i = 0; i < this.#length; i++) larger[i] = this.#at(i);
    for (let i = this.#length; i < larger.length; i++) larger[i] = undefined;
    this.#ring = larger;
    this.#front = 0;
  }
}
