/** Which errors count as one kind: those that differ only in numbers, ids, addresses and quoted values. Pure. */
import type { DeadLetter } from "../model/dead-letter.js";

const MOST_READ = 1_000;
const MOST_SAID = 120;

/** An apostrophe inside a word opens and closes nothing. */
const QUOTED = /"(?:[^"\\]|\\.)*"|`[^`]*`|“[^”]*”|«[^»]*»|(?<![\p{L}\p{N}])'(?:[^']|'(?=[\p{L}\p{N}]))*'/gu;
const ADDRESS = /[^\s@<>()[\],;:=]+@[^\s@<>()[\],;:]+/gu;
/** Long ones are ids as a whole; of shorter words, what has no digit tells which kind of thing it is. */
const LONG_ID = /(?<![\p{L}\p{N}_-])(?=[\p{L}_-]*\p{N})[\p{L}\p{N}_-]{20,}/gu;
const WITH_DIGIT = /\p{L}*\p{N}[\p{L}\p{N}]*/gu;
/** Parts of one number, date or address, and its sign. */
const JOINED = /(?:(?<![\p{L}\p{N}#])[-+])?#(?:[.,:/_+-]+#)*/gu;

export function errorClass({ code, name, message }: DeadLetter["error"]): string {
  const text = message
    .slice(0, MOST_READ)
    .replace(QUOTED, "…")
    .replace(ADDRESS, "#")
    .replace(LONG_ID, "#")
    .replace(WITH_DIGIT, "#")
    .replace(JOINED, "#");
  return `${code ?? name ?? "Error"}: ${text.slice(0, MOST_SAID)}`;
}
