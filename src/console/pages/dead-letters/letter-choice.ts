/** Which letters are meant: what the address says, as the hub takes it, as words and as a command line. */

import { shellWord } from "../../ui/format.js";
import { query } from "../../ui/router.js";

export interface LetterChoice {
  readonly group?: string;
  readonly key?: string;
  readonly errorClass?: string;
  readonly ids?: readonly string[];
}

const NAMES = ["group", "key", "errorClass"] as const;

export function choiceInAddress(): LetterChoice {
  const entries = NAMES.map((name) => [name, query(name)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}

export function choiceWords({ group, key, errorClass, ids }: LetterChoice): string {
  const parts = [
    ids !== undefined
      ? ids.length === 1
        ? "this letter"
        : `${ids.length} chosen letters`
      : "all open letters",
    ...(group === undefined ? [] : [`given up by ${group}`]),
    ...(key === undefined ? [] : [`of key ${key}`]),
    ...(errorClass === undefined ? [] : [`that failed with ${errorClass}`]),
  ];
  return parts.join(" ");
}

export function choiceFlags({ group, key, errorClass, ids = [] }: LetterChoice): string {
  const flags = [
    ...(group === undefined ? [] : ["--group", shellWord(group)]),
    ...(key === undefined ? [] : ["--key", shellWord(key)]),
    ...(errorClass === undefined ? [] : ["--error-class", shellWord(errorClass)]),
    ...ids.flatMap((id) => ["--id", shellWord(id)]),
  ];
  return flags.length === 0 ? "" : ` ${flags.join(" ")}`;
}
