/** How many turns of the event loop others had while `work` was under way: a store in this process makes none by itself. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns++;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  try {
    await work();
    return turns;
  } finally {
    clearImmediate(immediate);
  }
}
