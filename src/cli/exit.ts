/** How a command ends: its exit code, and the one message that says why. */
import { BusError, describeThrown } from "../model/errors.js";
import { EXIT } from "./exit-codes.js";

const BY_CODE: Readonly<Record<string, number>> = {
  USAGE: EXIT.usage,
  BAD_REQUEST: EXIT.usage,
  INVALID_TOPIC: EXIT.usage,
  INVALID_OPTION: EXIT.usage,
  UNSUPPORTED_MEDIA_TYPE: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  UNAUTHENTICATED: EXIT.auth,
  FORBIDDEN: EXIT.auth,
  INVALID_PAYLOAD: EXIT.invalid,
  PAYLOAD_TOO_LARGE: EXIT.invalid,
  BODY_TOO_LARGE: EXIT.invalid,
  SCHEMA_VIOLATION: EXIT.invalid,
  SCHEMA_INCOMPATIBLE: EXIT.invalid,
  SCHEMA_CONFLICT: EXIT.invalid,
  ID_CONFLICT: EXIT.invalid,
};

/** A failure as people are told it; `hint` is a way out. */
export class CliError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, o: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, o.cause === undefined ? undefined : { cause: o.cause });
    this.code = code;
    this.hint = o.hint;
  }
}

/** A failure to throw. */
export function failure(
  code: string,
  message: string,
  o: { readonly hint?: string; readonly cause?: unknown } = {},
): CliError {
  return new CliError(code, message, o);
}

/** Whoever was asked is gone, or goes: how much was done before, the failure does not say. */
const LEFT_ALONE: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "STORE_UNAVAILABLE", "CLOSED"]);

/** The failure with what became of the work, where that is in question and no other way out is known. */
export function withSoFar(error: unknown, soFar: string | undefined): unknown {
  if (!(error instanceof CliError) || error.hint !== undefined || !LEFT_ALONE.has(error.code)) return error;
  const unsure =
    error.code === "OUTCOME_UNKNOWN"
      ? "it may have been done or not; look before you do it again"
      : undefined;
  const hint = soFar ?? unsure;
  return hint === undefined ? error : failure(error.code, error.message, { hint, cause: error });
}

export function usageError(message: string, hint?: string): CliError {
  return new CliError("USAGE", message, hint === undefined ? {} : { hint });
}

/** The code of whatever was thrown; INTERNAL if nobody foresaw it. */
export function codeOf(error: unknown): string {
  return error instanceof CliError || error instanceof BusError ? error.code : "INTERNAL";
}

export function exitCodeOf(error: unknown): number {
  return BY_CODE[codeOf(error)] ?? EXIT.failure;
}

/** Whether a hub that failed like this may be back: one that refuses does so again. */
export function mayComeBack(error: unknown): boolean {
  return error instanceof CliError && exitCodeOf(error) === EXIT.failure;
}

/** What stderr gets: a sentence, a way out if there is one, never a stack. */
export function failureText(error: unknown, o: { readonly json: boolean }): string {
  const message = describeThrown(error);
  const hint = error instanceof CliError ? error.hint : undefined;
  if (o.json) return JSON.stringify({ error: { code: codeOf(error), message, ...(hint && { hint }) } });
  return hint === undefined ? `promethean: ${message}` : `promethean: ${message}\n  ${hint}`;
}
