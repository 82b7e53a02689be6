/** Where a project names topics: its definitions, registrations, publishes and subscriptions. */
import type ts from "typescript";
import { Constants, type DefinitionNode } from "./constants.js";
import { type Place, type Project, packageOf, placeOf } from "./project.js";

export type UsageKind = "define" | "register" | "publish" | "subscribe";

export interface HeaderUse {
  readonly name: string;
  /** Absent: made at run time. */
  readonly value?: string;
  readonly place: Place;
}

/** One topic in one call. */
export interface Usage {
  readonly kind: UsageKind;
  readonly topic: string;
  readonly place: Place;
  /** Whether the definition that is used, or made, has a schema. */
  readonly hasSchema: boolean;
  /** Of a registration. */
  readonly version?: number;
  readonly headers: readonly HeaderUse[];
}

export interface Usages {
  readonly found: readonly Usage[];
  /** Calls whose topic is made at run time: nothing can be said of them. */
  readonly unresolved: readonly Place[];
}

interface CallShape {
  readonly kind: UsageKind;
  readonly topic: number;
  readonly options?: number;
  /** The options stand in an array of items. */
  readonly items?: true;
}

/** What is called, and which argument is what. */
const SHAPES: Readonly<Record<string, CallShape>> = {
  defineTopic: { kind: "define", topic: 0 },
  register: { kind: "register", topic: 0 },
  publish: { kind: "publish", topic: 0, options: 2 },
  publishMany: { kind: "publish", topic: 0, options: 1, items: true },
  emit: { kind: "publish", topic: 0, options: 2 },
  emitFor: { kind: "publish", topic: 1, options: 3 },
  subscribe: { kind: "subscribe", topic: 0 },
  subscribeBatch: { kind: "subscribe", topic: 0 },
  attach: { kind: "subscribe", topic: 0 },
  subscribeNormalized: { kind: "subscribe", topic: 1 },
  subscribePartitioned: { kind: "subscribe", topic: 1 },
};

const PACKAGE = "promethean";

export function usagesOf(project: Project): Usages {
  const reader = new UsageReader(project);
  for (const source of project.sources) reader.read(source);
  return reader;
}

class UsageReader implements Usages {
  readonly found: Usage[] = [];
  readonly unresolved: Place[] = [];
  readonly #project: Project;
  readonly #constants: Constants;

  constructor(project: Project) {
    this.#project = project;
    this.#constants = new Constants(project);
  }

  read(source: ts.SourceFile): void {
    const { ts } = this.#project;
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node)) this.#readCall(node);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }

  #readCall(call: ts.CallExpression): void {
    const name = this.#constants.calleeOf(call);
    const shape = name !== undefined && Object.hasOwn(SHAPES, name) ? SHAPES[name] : undefined;
    if (shape === undefined || !this.#isOurs(call)) return;
    const topic = call.arguments[shape.topic];
    if (topic === undefined) return;
    if (shape.kind === "register") this.#registration(topic);
    else if (shape.kind === "define") this.#define({ node: call, name: topic, options: call.arguments[1] });
    else this.#use(shape, call, topic);
  }

  /**
   * Whether the function that is called is this package's, and not another one of the same name. Where types are lost,
   * the import decides.
   */
  #isOurs(call: ts.CallExpression): boolean {
    const { checker } = this.#project;
    const declaration = checker.getResolvedSignature(call)?.declaration;
    if (declaration !== undefined) return packageOf(declaration.getSourceFile().fileName) === PACKAGE;
    return importsPackage(this.#project.ts, call.getSourceFile());
  }

  #define(definition: DefinitionNode): void {
    const texts = this.#constants.textsOf(definition.name);
    const place = placeOf(this.#project, definition.name);
    if (texts === undefined) this.unresolved.push(place);
    const hasSchema = this.#constants.hasMember(definition.options, "schema");
    for (const topic of texts ?? [])
      this.found.push({ kind: "define", topic, place, hasSchema, headers: [] });
  }

  /** `register({ topic, version, schema })`. */
  #registration(argument: ts.Expression): void {
    const object = this.#constants.objectOf(argument);
    const members = object && this.#constants.membersOf(object);
    const topic = this.#constants.memberValue(members?.get("topic"));
    if (topic === undefined) return;
    const version = this.#numberOf(this.#constants.memberValue(members?.get("version")));
    for (const { name, place } of this.#topicsOf(topic))
      this.found.push({
        kind: "register",
        topic: name,
        place,
        hasSchema: true,
        headers: [],
        ...(version !== undefined && { version }),
      });
  }

  #use(shape: CallShape, call: ts.CallExpression, topic: ts.Expression): void {
    const options = shape.options === undefined ? undefined : call.arguments[shape.options];
    const headers = options === undefined ? [] : this.#optionHeaders(options, shape.items === true);
    for (const { name, place, hasSchema } of this.#topicsOf(topic))
      this.found.push({ kind: shape.kind, topic: name, place, hasSchema, headers });
  }

  #topicsOf(expression: ts.Expression): { name: string; place: Place; hasSchema: boolean }[] {
    const place = placeOf(this.#project, expression);
    const values = this.#constants.valuesOf(expression);
    const topics = (values ?? []).flatMap((value) => {
      if (value.kind === "text") return [{ name: value.text, place, hasSchema: false }];
      const { name, options } = value.definition;
      const hasSchema = this.#constants.hasMember(options, "schema");
      return (this.#constants.textsOf(name) ?? []).map((text) => ({ name: text, place, hasSchema }));
    });
    if (topics.length === 0) this.unresolved.push(place);
    return topics;
  }

  #optionHeaders(options: ts.Expression, items: boolean): HeaderUse[] {
    const { ts } = this.#project;
    if (!items) return this.#headersIn(options);
    const list = this.#constants.bare(options);
    return ts.isArrayLiteralExpression(list) ? list.elements.flatMap((item) => this.#headersIn(item)) : [];
  }

  #headersIn(options: ts.Expression): HeaderUse[] {
    const object = this.#constants.objectOf(options);
    const headers = object && this.#constants.membersOf(object).get("headers");
    const literal = this.#constants.objectOf(this.#constants.memberValue(headers));
    if (literal === undefined) return [];
    return [...this.#constants.membersOf(literal)].map(([name, member]) => {
      const set = this.#constants.memberValue(member);
      const [value] = (set && this.#constants.textsOf(set)) ?? [];
      return { name, place: placeOf(this.#project, member), ...(value !== undefined && { value }) };
    });
  }

  #numberOf(expression: ts.Expression | undefined): number | undefined {
    if (expression === undefined) return undefined;
    const type = this.#project.checker.getTypeAtLocation(expression);
    return type.isNumberLiteral() ? type.value : undefined;
  }
}

function importsPackage(ts: Project["ts"], source: ts.SourceFile): boolean {
  return source.statements.some(
    (statement) =>
      ts.isImportDeclaration(statement) &&
      ts.isStringLiteral(statement.moduleSpecifier) &&
      statement.moduleSpecifier.text.split("/")[0] === PACKAGE,
  );
}
