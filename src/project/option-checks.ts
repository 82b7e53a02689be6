/** Options as callers give them: one clear error for each mistake. */
import { BusError } from "../model/errors.js";

/** So that a call without options, or with something else in their place, says what is missing. */
export function checkObject(call: string, options: unknown): asserts options is object {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw wrong(`${call} takes its options as an object`);
}

export function checkRange(
  name: string,
  value: number | undefined,
  min: number,
  max: number = Number.POSITIVE_INFINITY,
): void {
  if (value === undefined) return;
  if (typeof value === "number" && value >= min && value <= max) return;
  const upTo = max === Number.POSITIVE_INFINITY ? "" : `, ${max} at most`;
  throw wrong(`${name} must be a number of ${min} or more${upTo}`);
}

/** As `checkRange`, of what is counted. */
export function checkCount(name: string, value: number | undefined, min: number, max?: number): void {
  checkRange(name, value, min, max);
  if (value === undefined || value === Number.POSITIVE_INFINITY || Number.isInteger(value)) return;
  throw wrong(`${name} must be a whole number`);
}

/** Those that are given must be functions. */
export function checkFunctions(options: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && typeof value !== "function") throw wrong(`${name} must be a function`);
}

/** Of what a function of the caller's is to answer with: a promise of it would count as an object without members. */
export function checkAnswer(name: string, answer: unknown): void {
  if (typeof answer === "object" && !(answer instanceof Promise)) return;
  throw wrong(`${name} must answer with an object or null, at once`);
}

export function checkChoice(name: string, value: unknown, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw wrong(`${name} must be ${choices.map((choice) => `"${choice}"`).join(" or ")}`);
}

export function checkName(name: string, value: unknown): asserts value is string {
  if (typeof value !== "string" || value === "") throw wrong(`${name} must be a non-empty string`);
}

/** A list, or none. */
export function checkList(name: string, value: unknown): void {
  if (value !== undefined && !Array.isArray(value)) throw wrong(`${name} must be an array`);
}

export function checkIndexes(indexes: unknown): void {
  checkList("indexes", indexes);
  for (const index of (indexes ?? []) as readonly unknown[]) {
    const keys = Object(index).keys as unknown;
    const directions = typeof keys === "object" && keys !== null ? Object.values(keys) : [];
    if (directions.length === 0 || directions.some((direction) => direction !== 1 && direction !== -1))
      throw wrong("an index is { keys: { field: 1 or -1, … }, unique? }");
  }
}

function wrong(message: string): BusError {
  return new BusError("INVALID_OPTION", message);
}
