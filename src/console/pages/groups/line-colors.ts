/** Which colour a line has: the one it had, for as long as it is shown; a line that comes takes one that is free. Pure. */

export function colorsOf(
  before: ReadonlyMap<number, string>,
  shown: readonly number[],
  colors: readonly string[],
): ReadonlyMap<number, string> {
  const staying = shown.flatMap((line) => before.get(line) ?? []);
  const free = colors.filter((color) => !staying.includes(color));
  return new Map(shown.map((line) => [line, before.get(line) ?? free.shift() ?? colors[0] ?? ""]));
}
