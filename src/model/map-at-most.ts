/**
 * Works on every item, on at most so many at once; the results come in the order of the items. The first failure is the caller's:
 * what has begun goes on, no more is begun.
 */
export async function mapAtMost<T, R>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let failed = false;
  const goOn = async (): Promise<void> => {
    try {
      while (next < items.length && !failed) {
        const place = next++;
        results[place] = await work(items[place] as T);
      }
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, goOn));
  return results;
}
