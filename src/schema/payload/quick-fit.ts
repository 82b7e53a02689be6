/**
 * Whether a payload surely fits a tree, and whole: nothing of it is left out. It is asked before Zod and Ajv, which take many times
 * as long and have something to say only where something is wrong. "No" means: ask them.
 *
 * A tree is turned into code once. Names and values reach that code as JSON strings only; where code may not be made from text
 * (node --disallow-code-generation-from-strings), and for trees that only their validator understands, there is no quick look.
 */
import { isPlain } from "../../model/json-makes.js";
import { patternOf } from "../patterns/pattern.js";
import { formatTest } from "../tree/format.js";
import {
  type ArrayNode,
  additionalOf,
  deref,
  type EnumNode,
  type Node,
  type NumberNode,
  type ObjectNode,
  type StringNode,
  type UnionNode,
} from "../tree/tree.js";
import { contains, isStripping } from "../tree/walk.js";
import { mayHold } from "./strip.js";

export type QuickFit = (payload: unknown) => boolean;

/** Makes a function of its code, with these names for these values; throws where that is not allowed. */
type Compile = (names: readonly string[], values: readonly unknown[], code: string) => QuickFit;

const compileHere: Compile = (names, values, code) => new Function(...names, code)(...values);

/** null: there is no way to be quick. */
export function quickFit(tree: Node, compile: Compile = compileHere): QuickFit | null {
  const code = new FitCode();
  const fits = code.fits(tree, "payload");
  const quick = fits === UNSURE ? null : code.compile(fits, compile);
  if (quick === null) return null;
  return (payload) => {
    try {
      return quick(payload);
    } catch {
      // Getters and proxies are the caller's code, and what contains itself has no end.
      return false;
    }
  };
}

/** The expression for a set of which nothing is sure. */
const UNSURE = "false";
/** Objects and arrays gone through before Zod and Ajv are asked: alternatives may try a deep value again and again. */
const MAX_STEPS = 200_000;
const MAX_NAMES = 64;
const MAX_VALUES = 16;
const SURROGATE = /[\ud800-\udfff]/;

class FitCode {
  readonly #constants: unknown[] = [];
  readonly #functions: string[] = [];
  readonly #called = new Map<Node, string>();

  /** An expression: whether what has the name `value` surely fits. */
  fits(node: Node, value: string): string {
    switch (node.kind) {
      case "any":
        return "true";
      case "enum":
        return this.#listed(node, value);
      case "number":
        return all(numberTests(node, value));
      case "string":
        return all(this.#stringTests(node, value));
      case "array":
        return this.#call(node, value, () => this.#arrayBody(node));
      case "object":
        return this.#call(node, value, () => this.#objectBody(node));
      case "union":
        return this.#union(node, value);
      case "ref": {
        const target = deref(node);
        return this.#call(target, value, () => `return ${this.fits(target, "value")};`);
      }
      default:
        return UNSURE;
    }
  }

  /** The whole as a function of `payload`; null where code may not be made. */
  compile(fits: string, compile: Compile): QuickFit | null {
    const names = this.#constants.map((_, i) => `c${i}`);
    const code = `"use strict"; let left; ${this.#functions.join("\n")}
      return (payload) => { left = ${MAX_STEPS}; return ${fits}; };`;
    try {
      return compile(["isPlain", ...names], [isPlain, ...this.#constants], code);
    } catch {
      return null;
    }
  }

  #constant(value: unknown): string {
    return `c${this.#constants.push(value) - 1}`;
  }

  /** A call of the function for a node: recursive trees come back to it. */
  #call(node: Node, value: string, body: () => string): string {
    let name = this.#called.get(node);
    if (name === undefined) {
      name = `f${this.#called.size}`;
      this.#called.set(node, name);
      const text = body();
      if (text === UNSURE) this.#called.set(node, UNSURE);
      const once = text === UNSURE ? "return false;" : `if (left-- <= 0) return false; ${text}`;
      this.#functions.push(`function ${name}(value) { ${once} }`);
      name = this.#called.get(node) as string;
    }
    return name === UNSURE ? UNSURE : `${name}(${value})`;
  }

  #listed({ values }: EnumNode, value: string): string {
    const plain = values.filter((listed) => typeof listed !== "object" || listed === null);
    if (plain.length > MAX_VALUES) return `${this.#constant(new Set(plain))}.has(${value})`;
    return any(plain.map((listed) => `${value} === ${JSON.stringify(listed)}`));
  }

  #stringTests({ minLength, maxLength, patterns, formats }: StringNode, value: string): string[] {
    const tests = [`typeof ${value} === "string"`];
    if (maxLength < Infinity) tests.push(`${value}.length <= ${maxLength}`);
    if (minLength > 0) tests.push(this.#longEnough(minLength, value));
    for (const test of [...patterns.map(patternTest), ...formats.map(formatTest)])
      tests.push(test === undefined ? UNSURE : `${this.#constant(test)}(${value})`);
    return tests;
  }

  /** Zod counts UTF-16 units, JSON Schema code points, of which there may be half as many. */
  #longEnough(minLength: number, value: string): string {
    if (minLength === 1) return `${value}.length >= 1`;
    const single = `${value}.length >= ${minLength} && !${this.#constant(SURROGATE)}.test(${value})`;
    return `(${value}.length >= ${2 * minLength - 1} || ${single})`;
  }

  #arrayBody({ prefix, rest, minItems, maxItems, unique }: ArrayNode): string {
    if (prefix.length > 0 || unique) return UNSURE;
    const counted = maxItems < Infinity ? ` || value.length > ${maxItems}` : "";
    return `
      if (!Array.isArray(value) || value.toJSON !== undefined || value.length < ${minItems}${counted}) return false;
      for (let i = 0; i < value.length; i++) {
        const item = value[i];
        if (item === undefined || !(${this.fits(rest, "item")})) return false;
      }
      return true;`;
  }

  /** Members are taken one by one, as they come: those that nobody declared show themselves. */
  #objectBody(node: ObjectNode): string {
    const { properties, patterns, minProperties, maxProperties } = node;
    if (patterns.length > 0 || properties.size > MAX_NAMES || properties.has("__proto__")) return UNSURE;
    let required = 0;
    const cases: string[] = [];
    for (const [name, property] of properties) {
      const fits = this.fits(property.node, "member");
      const counts = property.presence !== "optional";
      if (counts && fits === UNSURE) return UNSURE;
      if (counts) required++;
      cases.push(`case ${JSON.stringify(name)}:
        if (!(${fits})) return false;
        ${counts ? "required++;" : ""}
        break;`);
    }
    const counted = maxProperties < Infinity ? ` && members <= ${maxProperties}` : "";
    return `
      if (typeof value !== "object" || value === null || !isPlain(value)) return false;
      ${this.#telling(node)}
      let members = 0;
      let required = 0;
      for (const name in value) {
        const member = value[name];
        if (member === undefined) return false;
        members++;
        switch (name) {
          ${cases.join("\n")}
          default: if (name === "__proto__" || !(${this.fits(additionalOf(node, "write"), "member")})) return false;
        }
      }
      return required === ${required} && members >= ${minProperties}${counted};`;
  }

  /** What tells it from other alternatives comes first, in whatever order the members are: they need not be gone through. */
  #telling({ properties }: ObjectNode): string {
    for (const [name, { node, presence }] of properties)
      if (presence === "required" && node.kind === "enum")
        return `if (!(${this.#listed(node, `value[${JSON.stringify(name)}]`)})) return false;`;
    return "";
  }

  #union(node: UnionNode, value: string): string {
    if (contains(node, isStripping) && !isToldApart(node)) return UNSURE;
    return any(node.members.map((member) => this.fits(member, value)));
  }
}

function all(tests: readonly string[]): string {
  return tests.includes(UNSURE) ? UNSURE : `(${tests.join(" && ")})`;
}

function any(tests: readonly string[]): string {
  const sure = tests.filter((test) => test !== UNSURE);
  return sure.length === 0 ? UNSURE : `(${sure.join(" || ")})`;
}

function numberTests(node: NumberNode, value: string): string[] {
  const { integer, min, minExclusive, max, maxExclusive, multiplesOf } = node;
  const whole = integer || multiplesOf.length > 0;
  const tests = [whole ? `Number.isSafeInteger(${value})` : `typeof ${value} === "number"`];
  // Neither NaN nor infinite.
  if (!whole) tests.push(`${value} - ${value} === 0`);
  if (min > -Infinity) tests.push(`${value} ${minExclusive ? ">" : ">="} ${min}`);
  if (max < Infinity) tests.push(`${value} ${maxExclusive ? "<" : "<="} ${max}`);
  for (const divisor of multiplesOf)
    tests.push(Number.isSafeInteger(divisor) ? `${value} % ${divisor} === 0` : UNSURE);
  return tests;
}

function patternTest(source: string): ((text: string) => boolean) | undefined {
  const pattern = patternOf(source);
  return pattern && ((text) => pattern.test(text) === true);
}

/** Whether no two alternatives can both take a value of which one of them may leave something out. */
function isToldApart({ members }: UnionNode): boolean {
  const objects = members.filter((member) => mayHold(member, "object"));
  const arrays = members.filter((member) => mayHold(member, "array"));
  return arrays.length <= 1 && (objects.length <= 1 || haveOwnValues(objects.map(deref)));
}

/** Whether there is a member that all of them require, with other values in each: a discriminator. */
function haveOwnValues(nodes: readonly Node[]): boolean {
  const [first] = nodes;
  if (first?.kind !== "object") return false;
  return [...first.properties.keys()].some((name) => {
    const values = nodes.flatMap((node) => requiredValues(node, name) ?? [undefined]);
    return !values.includes(undefined) && new Set(values).size === values.length;
  });
}

/** What a member that must be there can be, if these are plain values. */
function requiredValues(node: Node, name: string): readonly unknown[] | undefined {
  const property = node.kind === "object" ? node.properties.get(name) : undefined;
  if (property?.presence !== "required" || property.node.kind !== "enum") return undefined;
  const { values } = property.node;
  return values.some((value) => typeof value === "object" && value !== null) ? undefined : values;
}
