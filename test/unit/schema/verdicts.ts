/** Verdicts held against those who judge payloads. */
import type { JsonValue } from "../../../src/model/json.js";
import { checkCompat } from "../../../src/schema/compare/compatibility.js";
import { stripUndeclared } from "../../../src/schema/payload/strip.js";
import { normalize, toJsonSchema } from "../../../src/schema/reading/normalize.js";
import type { SchemaInput } from "../../../src/schema/reading/schema-input.js";

export interface Pair<S extends SchemaInput = SchemaInput> {
  readonly older: S;
  readonly newer: S;
}

export type Judge<S extends SchemaInput> = (schema: S) => (value: JsonValue) => boolean;

export function fail({ older, newer }: Pair, what: string, value: unknown): never {
  const [a, b] = [older, newer].map((schema) => JSON.stringify(toJsonSchema(schema)));
  throw new Error(`${what}: ${JSON.stringify(value)}\nolder ${a}\nnewer ${b}`);
}

/** Fails where what was written is refused though it was called compatible, or a counter-example is none. Returns the verdict. */
export function judged<S extends SchemaInput>(
  pair: Pair<S>,
  tried: readonly JsonValue[],
  judge: Judge<S>,
): string {
  const { verdict, findings } = checkCompat(pair.older, pair.newer, "backward");
  const [writer, reader, tree] = [judge(pair.older), judge(pair.newer), normalize(pair.older)];
  for (const value of verdict === "compatible" ? tried.filter(writer) : []) {
    const written = stripUndeclared(tree, value);
    if (!reader(written)) fail(pair, "called compatible, but for", written);
  }
  for (const { counterExample, rule } of findings) {
    if (counterExample === undefined) continue;
    if (!writer(counterExample))
      fail(pair, `the older version refuses the counter-example of "${rule}"`, counterExample);
    if (reader(counterExample))
      fail(pair, `the newer version takes the counter-example of "${rule}"`, counterExample);
  }
  return verdict;
}
