const ONE: readonly unknown[] = [null];

/**
 * A list with one item, for places where most lists stay that short. An empty array takes room for seventeen at its first
 * push; V8 comes to make arrays of a literal among the old objects if they live for a while; `Array.of` takes ten times as long.
 */
export function listOfOne<T>(item: T): T[] {
  const list = ONE.slice() as T[];
  list[0] = item;
  return list;
}
