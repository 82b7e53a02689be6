/** Where the copy of a store lies as long as it is not whole: whoever waits for it can watch it grow there. */
export function partOf(target: string): string {
  return `${target}.partial`;
}

/** What it is to become. */
export function wholeOf(part: string): string {
  return part.replace(/\.partial$/, "");
}
