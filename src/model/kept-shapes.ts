/**
 * What V8 has learned of a shape (which fields, and what they may hold) lasts as long as an object has that shape, or code that was
 * compiled for it is there. So an example of what it is to learn before the first event comes is kept, lest a collection undo it.
 */
const kept: object[] = [];

export function keepShape(example: object): void {
  kept.push(example);
}
