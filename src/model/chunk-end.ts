export interface ChunkBounds {
  readonly items: number;
  readonly bytes: number;
}

/** Where a chunk of `items` ends that begins at `start`: it keeps within the bounds, but has one item at least. */
export function chunkEnd<T>(
  items: readonly T[],
  start: number,
  bounds: ChunkBounds,
  bytesOf: (item: T) => number,
): number {
  const last = Math.min(items.length, start + bounds.items);
  let bytes = 0;
  let end = start;
  while (end < last) {
    bytes += bytesOf(items[end] as T);
    if (bytes > bounds.bytes && end > start) break;
    end++;
  }
  return end;
}
