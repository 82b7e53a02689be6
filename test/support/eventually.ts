/** Waiting for a condition, with a deadline, instead of sleeping. */
import { settlePromises } from "../../src/model/manual-clock.js";

/** Resolves once `condition` holds; fails with `what` when it does not within `deadlineMs` of real time. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs = 30_000,
): Promise<void> {
  const untilMs = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > untilMs) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Lets everything that is ready run, several times over: with a manual clock, all there is to wait for. */
export async function settled(turns = 5): Promise<void> {
  for (let i = 0; i < turns; i++) await settlePromises();
}

/** A promise and the way to settle it. */
export interface Gate<T = void> {
  readonly passed: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => undefined;
  const passed = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
