/** Strings: lengths, patterns (as regular languages where they are), formats by name. */

import { findText } from "../patterns/language.js";
import { describeNode, shortPattern } from "../tree/describe-node.js";
import { texts } from "../tree/sample.js";
import { type StringNode, stringOf } from "../tree/tree.js";
import { type Context, FITS, type Findings, shownBy } from "./compare-context.js";

export function compareStrings(a: StringNode, b: StringNode, context: Context): Findings {
  return [
    ...compareLengths(a, b, context),
    ...b.patterns.flatMap((pattern) => comparePattern(a, pattern, context)),
    ...b.formats
      .filter((format) => !a.formats.includes(format))
      .flatMap((format) => compareFormat(a, format, context)),
  ];
}

function compareLengths(a: StringNode, b: StringNode, context: Context): Findings {
  const { writer, reader } = context;
  return [
    ...(a.minLength >= b.minLength
      ? FITS
      : search(
          a,
          { minLength: b.minLength },
          { maxLength: Math.min(a.maxLength, b.minLength - 1) },
          `the ${reader} version wants at least ${b.minLength} characters, the ${writer} one allows fewer`,
          context,
        )),
    ...(a.maxLength <= b.maxLength
      ? FITS
      : search(
          a,
          { maxLength: b.maxLength },
          { minLength: Math.max(a.minLength, b.maxLength + 1) },
          `the ${reader} version wants at most ${b.maxLength} characters, the ${writer} one allows more`,
          context,
        )),
  ];
}

function comparePattern(a: StringNode, pattern: string, context: Context): Findings {
  const rule = `the ${context.reader} version wants a match of ${shortPattern(pattern)}, the ${context.writer} one allows ${describeNode(a)}`;
  return search(a, { patterns: [pattern] }, { misses: [pattern] }, rule, context);
}

interface Wanted {
  readonly misses?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** Looks for a text of `a` as wanted, one that `broken` refuses; if there is none, `a` fits. */
function search(
  a: StringNode,
  broken: Partial<StringNode>,
  wanted: Wanted,
  rule: string,
  context: Context,
): Findings {
  const { patterns: matches, minLength, maxLength } = a;
  const answer = findText({ matches, misses: [], minLength, maxLength, ...wanted });
  if (answer.type === "none") return FITS;
  const found = answer.type === "found" ? [answer.text] : [];
  return shownBy(context, rule, [a, stringOf(broken)], [...found, ...texts(a)]);
}

function compareFormat(a: StringNode, format: string, context: Context): Findings {
  const rule = `the ${context.reader} version wants the format ${format}, the ${context.writer} one allows ${describeNode(a)}`;
  return shownBy(context, rule, [a, stringOf({ formats: [format] })], texts(a));
}
