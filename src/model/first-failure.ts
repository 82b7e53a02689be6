/** Pieces of work one after the other: one that fails does not keep the others from their turn, and is told of at the end. */
export class FirstFailure {
  #first: { readonly thrown: unknown } | undefined;

  /** Undefined if it failed. */
  async note<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (thrown) {
      this.#first ??= { thrown };
      return undefined;
    }
  }

  throwIfAny(): void {
    if (this.#first !== undefined) throw this.#first.thrown;
  }
}
