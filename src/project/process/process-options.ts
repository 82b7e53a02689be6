/** Options of the worked example: all are numbers above 0, each has a default, and a misspelt one is an error. */
import { BusError } from "../../model/errors.js";

export function withDefaults<T extends Record<keyof T, number>>(
  owner: string,
  options: { readonly [N in keyof T]?: number | undefined },
  defaults: T,
): T {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in defaults)) {
      throw new BusError(
        "INVALID_OPTION",
        `${owner} knows no option "${name}"; it takes ${Object.keys(defaults).join(", ")}`,
      );
    }
    if (value !== undefined && !(typeof value === "number" && Number.isFinite(value) && value > 0)) {
      throw new BusError("INVALID_OPTION", `${name} must be a number above 0`);
    }
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}
