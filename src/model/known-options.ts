import { BusError } from "./errors.js";

/** Throws INVALID_OPTION for what is no object, and for a name that `whose` does not take: misspelt, it would count as not given. */
export function checkOptionNames(whose: string, given: object, known: readonly string[]): void {
  if (typeof given !== "object" || given === null)
    throw new BusError("INVALID_OPTION", `${whose} takes an object with any of ${known.join(", ")}`);
  for (const name of Object.keys(given))
    if (!known.includes(name))
      throw new BusError(
        "INVALID_OPTION",
        `${whose} knows no option "${name}"; it takes ${known.join(", ")}`,
      );
}

/** The names of all options, so that the compiler misses one that is not listed. */
export function namesOf<O extends object>(all: Readonly<Record<keyof O, true>>): readonly string[] {
  return Object.keys(all);
}
