/** How many events are fetched at once: as many as usual, or fewer where they are large, so that a page stays a few megabytes. Pure. */

const MAX_BYTES = 8 * 1_048_576;
const FEWEST = 5;

export function pageSize(
  { events, bytes }: { readonly events: number; readonly bytes: number },
  usual: number,
): number {
  if (events === 0) return usual;
  // In steps, so that one event more or less does not make it another page.
  let size = usual;
  while (size > FEWEST && (bytes / events) * size > MAX_BYTES) size = Math.ceil(size / 2);
  return Math.max(FEWEST, size);
}
