/**
 * Whether an error is of the class of that name, or of one that extends it: classes of a package that is there in several copies are
 * not the same, their names are. For classes that say their name by their prototype.
 */
export function isErrorNamed(error: unknown, name: string): error is Error {
  if (!(error instanceof Error)) return false;
  for (let at: unknown = Object.getPrototypeOf(error); at !== Error.prototype && at !== null; ) {
    const own = Object.getOwnPropertyDescriptor(at, "name");
    if ((own?.get?.call(error) ?? own?.value) === name) return true;
    at = Object.getPrototypeOf(at);
  }
  return false;
}
