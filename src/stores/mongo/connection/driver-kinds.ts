/**
 * What the driver threw or decoded, by the names that it gives things: a client of the caller's may come from another copy of the
 * driver, whose classes are not those that we import.
 */
import type {
  Binary,
  MongoBulkWriteError,
  MongoError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from "mongodb";
import { isErrorNamed } from "../../../model/error-named.js";

interface Errors {
  readonly MongoError: MongoError;
  readonly MongoServerError: MongoServerError;
  readonly MongoBulkWriteError: MongoBulkWriteError;
  readonly MongoWriteConcernError: MongoWriteConcernError;
  readonly MongoServerSelectionError: MongoServerSelectionError;
  readonly MongoNetworkError: MongoError;
  readonly MongoAPIError: MongoError;
  readonly MongoParseError: MongoError;
  readonly MongoInvalidArgumentError: MongoError;
  readonly MongoMissingCredentialsError: MongoError;
  readonly MongoMissingDependencyError: MongoError;
  readonly MongoCompatibilityError: MongoError;
  readonly MongoNotConnectedError: MongoError;
  readonly MongoTopologyClosedError: MongoError;
  readonly MongoClientClosedError: MongoError;
}

/** Whether it is an error of that class, or of one that extends it. */
export function isMongo<N extends keyof Errors>(error: unknown, name: N): error is Errors[N] {
  return isErrorNamed(error, name);
}

export function isBinary(value: unknown): value is Binary {
  return typeof value === "object" && value !== null && "_bsontype" in value && value._bsontype === "Binary";
}
