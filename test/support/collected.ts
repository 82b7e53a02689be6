/** Values that a callback is given, and a wait for the first so many of them. */

export interface Collected<T> {
  readonly all: readonly T[];
  take(value: T): void;
  /** Resolves when there are that many. */
  first(count: number): Promise<readonly T[]>;
}

export function collected<T>(): Collected<T> {
  const all: T[] = [];
  let waiting: { count: number; go: () => void }[] = [];
  return {
    all,
    take(value) {
      all.push(value);
      for (const { count, go } of waiting) if (all.length >= count) go();
      waiting = waiting.filter(({ count }) => all.length < count);
    },
    first: (count) =>
      new Promise((resolve) => {
        const go = (): void => resolve(all.slice(0, count));
        if (all.length >= count) go();
        else waiting.push({ count, go });
      }),
  };
}
