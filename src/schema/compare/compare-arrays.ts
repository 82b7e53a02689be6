/** Arrays and tuples: how many items, whether they differ, and each item by its place. */
import type { JsonValue } from "../../model/json.js";
import { itemsOf, samples } from "../tree/sample.js";
import { type ArrayNode, arrayOf, type Node } from "../tree/tree.js";
import {
  ANY_ITEM,
  at,
  type Context,
  FITS,
  type Findings,
  findInEach,
  lift,
  shownBy,
} from "./compare-context.js";

export function compareArrays(a: ArrayNode, b: ArrayNode, context: Context): Findings {
  const named = Math.max(a.prefix.length, b.prefix.length);
  // Items beyond what the reader takes at all are a matter of the count.
  const end = Math.min(a.maxItems, b.maxItems);
  const items = findInEach(Array.from({ length: Math.min(named, end) }).keys(), (i) =>
    compareItem(a, b, i, at(context, i)),
  );
  const others = named < end ? compareItem(a, b, named, at(context, ANY_ITEM)) : FITS;
  return [...compareCounts(a, b, context), ...items, ...others];
}

function itemAt(node: ArrayNode, i: number): Node {
  return node.prefix[i] ?? node.rest;
}

function compareItem(a: ArrayNode, b: ArrayNode, i: number, context: Context): Findings {
  const findings = context.compare(itemAt(a, i), itemAt(b, i), context);
  return lift(findings, [a, b], (witness) => {
    const length = Math.max(i + 1, a.minItems);
    const items = itemsOf({ ...a, unique: false }, length, 0);
    return items?.with(i, witness);
  });
}

function compareCounts(a: ArrayNode, b: ArrayNode, context: Context): Findings {
  const { writer, reader } = context;
  const longer = (length: number): JsonValue[] => {
    const items = length > 1_000 ? undefined : itemsOf(a, length, 0);
    return items === undefined ? [] : [items];
  };
  return [
    ...(a.minItems >= b.minItems
      ? FITS
      : shownBy(
          context,
          `the ${reader} version wants at least ${b.minItems} items, the ${writer} one allows ${a.minItems}`,
          [a, arrayOf({ minItems: b.minItems })],
          samples(a),
        )),
    ...(a.maxItems <= b.maxItems
      ? FITS
      : shownBy(
          context,
          `the ${reader} version wants at most ${b.maxItems} items, the ${writer} one allows ${a.maxItems === Infinity ? "any number" : a.maxItems}`,
          [a, arrayOf({ maxItems: b.maxItems })],
          longer(Math.max(b.maxItems + 1, a.minItems)),
        )),
    ...(a.unique || !b.unique || a.maxItems <= 1
      ? FITS
      : shownBy(
          context,
          `the ${reader} version wants items that differ`,
          [a, arrayOf({ unique: true })],
          longer(Math.max(2, a.minItems)),
        )),
  ];
}
