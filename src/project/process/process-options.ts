/** Options of the worked example: all are numbers above 0, each has a default, and a misspelt one is an error. */

import { BusError } from "../../model/errors.js";
import { checkOptionNames } from "../../model/known-options.js";

export function withDefaults<T extends Record<keyof T, number>>(
  owner: string,
  options: { readonly [N in keyof T]?: number | undefined },
  defaults: T,
): T {
  checkOptionNames(owner, options, Object.keys(defaults));
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !(typeof value === "number" && Number.isFinite(value) && value > 0)) {
      throw new BusError("INVALID_OPTION", `${name} must be a number above 0`);
    }
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}
