import { expect } from "vitest";
import { BusError } from "../../src/model/errors.js";

/** What a call fails with: a BusError, or the test fails. */
export async function failure(call: Promise<unknown>): Promise<BusError> {
  const outcome = await call.then(
    (answer) => new Error(`it answered ${JSON.stringify(answer)}`),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(BusError);
  return outcome as BusError;
}
