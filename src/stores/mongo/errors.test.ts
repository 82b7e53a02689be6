import { MongoBulkWriteError, MongoNetworkError, MongoNotConnectedError, MongoServerError } from "mongodb";
import { describe, expect, it } from "vitest";
import { BusError } from "../../model/errors.js";
import { busError, isCommitUnknown, isTransient, mayHaveHappened } from "./errors.js";

function serverError(code: number, ...labels: string[]): MongoServerError {
  return new MongoServerError({ message: `error ${code}`, code, errorLabels: labels });
}

function brokenPipe(): Error {
  return Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
}

/** As the driver's bulk writes show what happened to their connection. */
function inBulk(cause: Error): MongoBulkWriteError {
  const result = { getWriteConcernError: () => undefined };
  return new MongoBulkWriteError(cause as never, result as never);
}

describe("errors of MongoDB", () => {
  it.each([
    [new MongoNetworkError("gone"), "STORE_UNAVAILABLE", true],
    [brokenPipe(), "STORE_UNAVAILABLE", true],
    [inBulk(brokenPipe()), "STORE_UNAVAILABLE", true],
    [serverError(10107), "STORE_UNAVAILABLE", true],
    [serverError(18), "STORE_UNAVAILABLE", false],
    [serverError(13), "STORE_UNAVAILABLE", false],
    [serverError(14031), "STORE_FULL", true],
    [serverError(10334), "PAYLOAD_TOO_LARGE", false],
    [serverError(11000), "WRITE_CONFLICT", false],
    [serverError(86), "STORE_INCOMPATIBLE", false],
    [new MongoNotConnectedError("closed"), "CLOSED", false],
    [new TypeError("a fault of ours"), "INTERNAL", false],
  ])("a read that fails with %s is %s, retryable %s", (error, code, retryable) => {
    expect(busError(error, "none")).toMatchObject({ code, retryable });
  });

  it.each([
    new MongoNetworkError("gone"),
    brokenPipe(),
    inBulk(new MongoNetworkError("gone")),
    serverError(11602),
  ])("a write that fails with %s may have happened: OUTCOME_UNKNOWN", (error) => {
    expect(mayHaveHappened(error)).toBe(true);
    expect(busError(error, "possible").code).toBe("OUTCOME_UNKNOWN");
  });

  it("a write that the server refused, or says it did not do, did not happen", () => {
    expect(mayHaveHappened(serverError(11000))).toBe(false);
    expect(mayHaveHappened(serverError(18))).toBe(false);
    expect(mayHaveHappened(serverError(189, "RetryableWriteError", "NoWritesPerformed"))).toBe(false);
  });

  it("a transaction is begun anew after a label or a lost connection, labelled or not", () => {
    expect(isTransient(serverError(112, "TransientTransactionError"))).toBe(true);
    expect(isTransient(inBulk(new MongoNetworkError("stale connection")))).toBe(true);
    expect(isTransient(serverError(11000))).toBe(false);
    expect(isCommitUnknown(brokenPipe())).toBe(true);
    expect(isCommitUnknown(serverError(251, "TransientTransactionError"))).toBe(false);
  });

  it("an error of ours stays as it is", () => {
    const ours = new BusError("LEASE_LOST", "gone");
    expect(busError(ours, "possible")).toBe(ours);
  });
});
