/** One event of a history as a line for people. */
import type { Cursor } from "../../ports/groups.js";
import type { HistoryEvent } from "../history/index.js";

export function historyLine(event: HistoryEvent, startMs: number): string {
  const { type, atMs = startMs, ...rest } = event;
  const facts = Object.entries(rest).map(([name, value]) => `${name}=${fact(name, value)}`);
  return `${String(atMs - startMs).padStart(7)} ${type.padEnd(16)} ${facts.join(" ")}`;
}

function fact(name: string, value: unknown): string {
  if (name === "cursor") return cursorText(value as Cursor);
  if (Array.isArray(value)) return `[${value.length}]`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** floor, settled ranges above it, mark, and seq:delivered/failures of what has a past. */
function cursorText({ floor, settled, mark, attempts, unclean, suspect }: Cursor): string {
  const ranges = settled.map(([from, to]) => `${from}-${to}`).join(",");
  const past = attempts.map(({ seq, delivered, failures }) => `${seq}:${delivered}/${failures}`).join(",");
  return `{${floor}+[${ranges}] mark ${mark} past [${past}] unclean ${unclean} suspect ${suspect ?? "none"}}`;
}
