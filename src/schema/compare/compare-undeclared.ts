/**
 * Members that neither side declares by name. Each side sorts them by what their names look like; where a name can
 * fall under a kind of the writer's and a kind of the reader's at once, what the one writes must be what the other takes.
 */
import type { JsonValue } from "../../model/json.js";
import { findText, type TextAnswer } from "../patterns/language.js";
import { membersOf, sample } from "../tree/sample.js";
import { additionalOf, type Node, type ObjectNode, type Side, type StringNode } from "../tree/tree.js";
import { ANY_MEMBER, at, type Context, FITS, type Findings, findInEach, lift } from "./compare-context.js";

/** Beyond it declared names are not ruled out one by one: more may overlap, never less. */
const MAX_EXCLUDED = 12;

/** Longer names are not made up. */
const MAX_NAME = 100_000;

/** Members whose names are as said and not as ruled out. */
interface Sort {
  readonly keys: StringNode | undefined;
  readonly excluded: readonly string[];
  readonly node: Node;
}

export function compareUndeclared(a: ObjectNode, b: ObjectNode, context: Context): Findings {
  const declared = [...new Set([...a.properties.keys(), ...b.properties.keys()])];
  const writes = sortsOf(a, "write").filter(({ node }) => node.kind !== "never");
  const reads = sortsOf(b, "read");
  return findInEach(writes, (written) =>
    findInEach(reads, (read) => {
      const name = nameFor(written, read, declared);
      return name.type === "none" ? FITS : compareSorts(a, b, [written.node, read.node], name, context);
    }),
  );
}

function sortsOf(object: ObjectNode, side: Side): Sort[] {
  const named = object.patterns.map(({ keys, node }): Sort => ({ keys, excluded: [], node }));
  // A pattern is ruled out only if it is all that a name must be; leaving one in makes the sort larger, never smaller.
  const excluded = object.patterns
    .filter(({ keys }) => isOnePattern(keys))
    .flatMap(({ keys }) => keys.patterns);
  return [...named, { keys: undefined, excluded, node: additionalOf(object, side) }];
}

function isOnePattern(keys: StringNode): boolean {
  return (
    keys.patterns.length === 1 &&
    keys.formats.length === 0 &&
    keys.minLength === 0 &&
    keys.maxLength === Infinity
  );
}

/** A name that falls under both sorts and is declared by neither side. */
function nameFor(a: Sort, b: Sort, declared: readonly string[]): TextAnswer {
  const plain = declared.length > MAX_EXCLUDED ? [] : declared.map((name) => `^${literally(name)}$`);
  const query = {
    matches: [...(a.keys?.patterns ?? []), ...(b.keys?.patterns ?? [])],
    misses: [...a.excluded, ...b.excluded],
    minLength: Math.max(a.keys?.minLength ?? 0, b.keys?.minLength ?? 0),
    maxLength: Math.min(a.keys?.maxLength ?? Infinity, b.keys?.maxLength ?? Infinity),
  };
  if (query.minLength > MAX_NAME) return { type: "unsure" };
  if (query.matches.length + query.misses.length === 0 && query.maxLength > 40) {
    return { type: "found", text: fresh(declared, query.minLength) };
  }
  return findText({ ...query, misses: [...query.misses, ...plain] });
}

function fresh(declared: readonly string[], minLength: number): string {
  let name = "other".padEnd(minLength, "_");
  while (declared.includes(name)) name += "_";
  return name;
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, (character) =>
    character === "-" ? "\\x2d" : `\\${character}`,
  );
}

function compareSorts(
  a: ObjectNode,
  b: ObjectNode,
  [written, read]: readonly [Node, Node],
  name: TextAnswer,
  context: Context,
): Findings {
  const inside = at(context, ANY_MEMBER);
  const embed = (witness: JsonValue): JsonValue | undefined =>
    name.type === "found" ? membersOf(a, { [name.text]: witness }) : undefined;
  if (read.kind !== "never") return lift(context.compare(written, read, inside), [a, b], embed);
  const value = sample(written);
  const rule = `the ${context.writer} version lets members pass that it does not declare, the ${context.reader} one is closed to them`;
  const finding = { path: inside.path, rule, verdict: "unsure", witness: undefined } as const;
  const whole = value === undefined ? undefined : embed(value);
  if (whole === undefined) return [finding];
  return lift([{ ...finding, verdict: "breaks", witness: whole }], [a, b], (witness) => witness);
}
