/** A number for an object that no other has, for as long as this process lives. */
const identities = new WeakMap<object, number>();
let last = 0;

export function identityOf(object: object): number {
  const identity = identities.get(object) ?? ++last;
  identities.set(object, identity);
  return identity;
}
