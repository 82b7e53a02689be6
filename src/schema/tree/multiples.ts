/**
 * What counts as a multiple: Zod's own definition, for JSON Schemas too, so that a payload is judged alike in a process that has
 * the Zod schema and in one that has only its JSON Schema. 0.3 is a multiple of 0.1 by it, as people mean it: what is
 * nearer to a multiple than numbers of this size can tell apart is one.
 */
import { z } from "zod";

export function isMultipleOf(value: number, divisor: number): boolean {
  return z.core.util.floatSafeRemainder(value, divisor) === 0;
}
