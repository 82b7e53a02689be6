/** Options that are numbers: one clear error for each mistake. */
import { BusError } from "../model/errors.js";

export function checkRange(
  name: string,
  value: number | undefined,
  min: number,
  max: number = Number.POSITIVE_INFINITY,
): void {
  if (value === undefined) return;
  if (typeof value === "number" && value >= min && value <= max) return;
  const upTo = max === Number.POSITIVE_INFINITY ? "" : `, ${max} at most`;
  throw new BusError("INVALID_OPTION", `${name} must be a number of ${min} or more${upTo}`);
}
