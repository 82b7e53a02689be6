/** Which errors count as one kind: those that differ only in numbers, ids, addresses and quoted values. Pure. */
import type { DeadLetter } from "../../model/dead-letter.js";

const MOST_READ = 1_000;
const MOST_SAID = 120;

/** An apostrophe inside a word opens and closes nothing. */
const QUOTED = /"(?:[^"\\]|\\.)*"|`[^`]*`|“[^”]*”|«[^»]*»|(?<![\p{L}\p{N}])'(?:[^']|'(?=[\p{L}\p{N}]))*'/gu;
const ADDRESS = /[^\s@<>()[\],;:=]+@[^\s@<>()[\],;:]+/gu;
/** Long ones are ids as a whole; of shorter words, what has no digit tells which kind of thing it is. */
const LONG_ID = /(?<![\p{L}\p{N}_-])[\p{L}\p{N}_-]{20,}/gu;
const WITH_DIGIT = /\p{L}*\p{N}[\p{L}\p{N}]*/gu;
/** Parts of one number, date or address, and its sign. */
const JOINED = /(?:(?<![\p{L}\p{N}#])[-+])?#(?:[.,:/_+-]+#)*/gu;

export function errorClass({ code, name, message }: DeadLetter["error"]): string {
  return `${code ?? name ?? "Error"}: ${withoutValues(message.slice(0, MOST_READ)).slice(0, MOST_SAID)}`;
}

/** A page of a console asks for the classes of thousands: what cannot fit is not looked for. */
function withoutValues(message: string): string {
  let text = message;
  if (/["'`“«]/.test(text)) text = text.replace(QUOTED, "…");
  if (text.includes("@")) text = text.replace(ADDRESS, "#");
  if (/\p{N}/u.test(text))
    text = text.replace(LONG_ID, (word) => (/\p{N}/u.test(word) ? "#" : word)).replace(WITH_DIGIT, "#");
  return text.includes("#") ? text.replace(JOINED, "#") : text;
}
