import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoCompatibilityError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
} from "mongodb";
import { describe, expect, it } from "vitest";
import { BusError } from "../../../model/errors.js";
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

/** As MongoDB Atlas words it. */
const overQuota = new MongoServerError({
  message: "you are over your space quota, using 513 MB of 512 MB",
  code: 8000,
});

/** Of releases of the driver in which `timeoutMS` has an effect. */
const timedOut = Object.defineProperty(new MongoError("timed out"), "name", {
  value: "MongoOperationTimeoutError",
});

describe("errors of MongoDB", () => {
  it.each([
    [new MongoNetworkError("gone"), "STORE_UNAVAILABLE", true],
    [brokenPipe(), "STORE_UNAVAILABLE", true],
    [inBulk(brokenPipe()), "STORE_UNAVAILABLE", true],
    [serverError(10107), "STORE_UNAVAILABLE", true],
    [serverError(43), "STORE_UNAVAILABLE", true],
    [serverError(73), "INVALID_OPTION", false],
    [serverError(171), "INVALID_PAYLOAD", false],
    [serverError(15), "INVALID_PAYLOAD", false],
    [serverError(18), "STORE_UNAVAILABLE", false],
    [serverError(13), "STORE_UNAVAILABLE", false],
    [serverError(334), "STORE_UNAVAILABLE", false],
    [serverError(388), "PAYLOAD_TOO_LARGE", false],
    [serverError(8000), "STORE_UNAVAILABLE", false],
    [serverError(14031), "STORE_FULL", true],
    [overQuota, "STORE_FULL", true],
    [serverError(290, "TransientTransactionError"), "WRITE_CONFLICT", true],
    [serverError(246, "TransientTransactionError"), "WRITE_CONFLICT", true],
    [timedOut, "STORE_UNAVAILABLE", true],
    [serverError(10334), "PAYLOAD_TOO_LARGE", false],
    [serverError(11000), "WRITE_CONFLICT", false],
    [serverError(86), "STORE_INCOMPATIBLE", false],
    [new MongoNotConnectedError("closed"), "CLOSED", false],
    [new MongoClientClosedError(), "CLOSED", false],
    [new MongoCompatibilityError("of 4.0"), "STORE_INCOMPATIBLE", false],
    [new TypeError("a fault of ours"), "INTERNAL", false],
  ])("a read that fails with %s is %s, retryable %s", (error, code, retryable) => {
    expect(busError(error, "none")).toMatchObject({ code, retryable });
  });

  it.each([
    new MongoNetworkError("gone"),
    brokenPipe(),
    inBulk(new MongoNetworkError("gone")),
    serverError(11602),
    serverError(11601),
    timedOut,
    new MongoClientClosedError(),
  ])("a write that fails with %s may have happened: OUTCOME_UNKNOWN", (error) => {
    expect(mayHaveHappened(error)).toBe(true);
    expect(busError(error, "possible").code).toBe("OUTCOME_UNKNOWN");
  });

  it("a write that the server refused, or says it did not do, did not happen", () => {
    expect(mayHaveHappened(serverError(11000))).toBe(false);
    expect(mayHaveHappened(serverError(18))).toBe(false);
    expect(mayHaveHappened(overQuota)).toBe(false);
    expect(mayHaveHappened(serverError(189, "RetryableWriteError", "NoWritesPerformed"))).toBe(false);
  });

  it("a transaction is begun anew after a label or a lost connection, labelled or not", () => {
    expect(isTransient(serverError(112, "TransientTransactionError"))).toBe(true);
    expect(isTransient(inBulk(new MongoNetworkError("stale connection")))).toBe(true);
    expect(isTransient(serverError(11000))).toBe(false);
    expect(isCommitUnknown(brokenPipe())).toBe(true);
    expect(isTransient(timedOut) && isCommitUnknown(timedOut)).toBe(true);
    expect(isCommitUnknown(serverError(251, "TransientTransactionError"))).toBe(false);
  });

  const REFUSED = "not authorized on shop to execute command { ";
  it.each([
    [
      13,
      `${REFUSED}insert: "events", documents: [ { payload: "{\\"card\\":4111}" } ] }`,
      "insert",
      "shop.events",
    ],
    [13, `${REFUSED}createIndexes: "a.b", indexes: [] }`, "createIndex", "shop.a.b"],
    [13, `${REFUSED}aggregate: 1, pipeline: [ { $changeStream: {} } ] }`, "changeStream", "shop"],
    [13, `${REFUSED}aggregate: "cursors", pipeline: [] }`, "find", "shop.cursors"],
    [13, `${REFUSED}listCollections: 1, filter: {} }`, "listCollections", "shop"],
    [8000, "user is not allowed to do action [insert] on [shop.events]", "insert", "shop.events"],
    [8000, "user is not allowed to do action [changeStream] on [shop.]", "changeStream", "shop."],
  ])(
    "a missing right is named, with its place and nothing of the command: %s %s",
    (code, message, right, on) => {
      const error = busError(new MongoServerError({ message, code }), "possible");
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: false, details: { right, on } });
      expect(error.message).toBe(
        `the MongoDB user lacks a right (${right} on ${on}): give it the role readWrite on the database "shop"`,
      );
      expect(error.cause).toBeUndefined();
    },
  );

  it("an error of ours stays as it is", () => {
    const ours = new BusError("LEASE_LOST", "gone");
    expect(busError(ours, "possible")).toBe(ours);
  });
});
