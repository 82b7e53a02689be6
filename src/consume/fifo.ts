/** First in, first out, without moving the rest: the spent front is cut off now and then. */
export class Fifo<T> {
  #items: T[] = [];
  #front = 0;

  get length(): number {
    return this.#items.length - this.#front;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#front];
  }

  shift(): T | undefined {
    if (this.#front === this.#items.length) return undefined;
    const item = this.#items[this.#front];
    this.#items[this.#front++] = undefined as T;
    if (this.#front > 512 && this.#front * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#front);
      this.#front = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#front = 0;
  }

  /** In order, front first. */
  forEach(visit: (item: T) => void): void {
    for (let i = this.#front; i < this.#items.length; i++) visit(this.#items[i] as T);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = this.#front; i < this.#items.length; i++) yield this.#items[i] as T;
  }
}
