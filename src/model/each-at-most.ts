/** Works on every item, on at most so many at once. The first failure is the caller's; what has begun goes on, no more is begun. */
export async function eachAtMost<T>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const goOn = async (): Promise<void> => {
    try {
      while (next < items.length && !failed) await work(items[next++] as T);
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, goOn));
}
