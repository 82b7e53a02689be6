/**
 * One command for many who ask: if it fails, that may be about one of them only. So each goes alone then, and what fails alone is
 * that one's failure.
 */
export type Told<A> = PromiseSettledResult<A>;

export async function tellApart<Q, A>(
  questions: readonly Q[],
  ask: (questions: readonly Q[]) => Promise<readonly A[]>,
): Promise<readonly Told<A>[]> {
  try {
    return (await ask(questions)).map((value) => ({ status: "fulfilled", value }));
  } catch (reason) {
    if (questions.length === 1) return [{ status: "rejected", reason }];
    return (await Promise.all(questions.map((question) => tellApart([question], ask)))).flat();
  }
}

/** Throws what this one failed with. */
export function answerOf<A>(told: Told<A>): A {
  if (told.status === "rejected") throw told.reason;
  return told.value;
}
