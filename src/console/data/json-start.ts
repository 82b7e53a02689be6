/** The beginning of JSON: rows are drawn again and again, and a payload may be a megabyte. Pure. */

/** JSON of a parsed value, complete for the first `room` characters, with little more behind them. */
export function jsonStart(value: unknown, room: number): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, Math.max(0, room) + 1));
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  let text = Array.isArray(value) ? "[" : "{";
  for (const [label, member] of membersOf(value)) {
    if (text.length > room) return text;
    text += text.length === 1 ? label : `,${label}`;
    text += jsonStart(member, room - text.length);
  }
  return text + (Array.isArray(value) ? "]" : "}");
}

/** One by one: most of them are never looked at. */
function* membersOf(value: object): Generator<readonly [string, unknown]> {
  if (Array.isArray(value)) for (const member of value as unknown[]) yield ["", member];
  else
    for (const name in value)
      yield [`${JSON.stringify(name)}:`, (value as Readonly<Record<string, unknown>>)[name]];
}
