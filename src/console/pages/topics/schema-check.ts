/**
 * A small reading of JSON Schema for forms: what a payload lacks, and a payload to begin with. It knows the common
 * keywords and passes over the others: the hub has the last word.
 */

export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly unknown[];
  readonly oneOf?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, unknown>>;
}

export function violations(schema: unknown, value: unknown): SchemaIssue[] {
  const issues: SchemaIssue[] = [];
  check(schema, schema as Schema, value, "", issues);
  return issues;
}

function check(root: unknown, given: unknown, value: unknown, path: string, issues: SchemaIssue[]): void {
  const schema = resolved(root, given);
  if (schema === null) return;
  const say = (message: string): void => void issues.push({ path, message });
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) {
    const fits = options.some((option) => {
      const found: SchemaIssue[] = [];
      check(root, option, value, path, found);
      return found.length === 0;
    });
    if (!fits) say("fits none of the forms it may have");
    return;
  }
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOf(type, value))) {
    say(`must be ${types.join(" or ")}`);
    return;
  }
  if (schema.enum !== undefined && !schema.enum.some((one) => same(one, value)))
    say(`must be one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}`);
  if (schema.const !== undefined && !same(schema.const, value))
    say(`must be ${JSON.stringify(schema.const)}`);
  checkScalar(schema, value, say);
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) check(root, schema.items, item, `${path}[${i}]`, issues);
  } else if (typeof value === "object" && value !== null) {
    checkMembers(root, schema, value, path, issues);
  }
}

function checkScalar(schema: Schema, value: unknown, say: (message: string) => void): void {
  if (typeof value === "number") {
    if (schema.minimum !== undefined && value < schema.minimum) say(`must be at least ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum) say(`must be at most ${schema.maximum}`);
    if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum)
      say(`must be above ${schema.exclusiveMinimum}`);
  }
  if (typeof value === "string") {
    if (schema.minLength !== undefined && value.length < schema.minLength)
      say(`must have at least ${schema.minLength} characters`);
    if (schema.maxLength !== undefined && value.length > schema.maxLength)
      say(`must have at most ${schema.maxLength} characters`);
  }
}

function checkMembers(
  root: unknown,
  schema: Schema,
  value: object,
  path: string,
  issues: SchemaIssue[],
): void {
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) issues.push({ path: at(name), message: "is missing" });
  }
  for (const [name, member] of Object.entries(value)) {
    const own = schema.properties?.[name];
    if (own !== undefined) check(root, own, member, at(name), issues);
    else if (schema.additionalProperties === false)
      issues.push({ path: at(name), message: "is not declared" });
  }
}

/** A payload that fits, as plain as can be. */
export function exampleOf(schema: unknown, root: unknown = schema, depth = 0): unknown {
  const own = resolved(root, schema);
  if (own === null || depth > 6) return null;
  if (own.default !== undefined) return own.default;
  if (own.const !== undefined) return own.const;
  if (own.enum !== undefined) return own.enum[0];
  const option = (own.anyOf ?? own.oneOf)?.[0];
  if (option !== undefined) return exampleOf(option, root, depth + 1);
  switch ([own.type].flat()[0]) {
    case "string":
      return own.format === "date-time" ? new Date(0).toISOString() : "";
    case "integer":
    case "number":
      return Math.max(own.minimum ?? 0, own.exclusiveMinimum === undefined ? 0 : own.exclusiveMinimum + 1);
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return Object.fromEntries(
        Object.entries(own.properties ?? {})
          .filter(([name]) => own.required?.includes(name))
          .map(([name, member]) => [name, exampleOf(member, root, depth + 1)]),
      );
    default:
      return null;
  }
}

function resolved(root: unknown, schema: unknown): Schema | null {
  if (typeof schema !== "object" || schema === null) return null;
  const { $ref } = schema as Schema;
  if ($ref === undefined) return schema as Schema;
  const name = /^#\/\$defs\/(.+)$/.exec($ref)?.[1];
  const target = name === undefined ? undefined : (root as Schema).$defs?.[name];
  return typeof target === "object" && target !== null ? (target as Schema) : null;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
