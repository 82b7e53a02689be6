/** How a part does that lives in a subscription: what failed last there, how often, and whether it has worked since. */
import { describeThrown } from "../model/errors.js";

export class TaskHealth {
  failures = 0;
  /** The last time did not work; it is going to be tried again. */
  failing = false;
  lastError: string | undefined;

  /** As `work`, with its outcome noted. */
  around<A extends readonly unknown[], R>(work: (...args: A) => R | Promise<R>): (...args: A) => Promise<R> {
    return async (...args) => {
      try {
        const result = await work(...args);
        this.failing = false;
        return result;
      } catch (error) {
        this.failing = true;
        this.failures++;
        this.lastError = describeThrown(error);
        throw error;
      }
    };
  }
}
