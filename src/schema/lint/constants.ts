/**
 * What an expression can be told to be without running it: texts and topic definitions, through constants, imports,
 * enums, members of constant objects, templates and types of literals. What is computed at run time stays unknown.
 */
import type ts from "typescript";
import type { Project } from "./project.js";

/** A `defineTopic(…)` call, or an object that is one in all but name. */
export interface DefinitionNode {
  readonly node: ts.CallExpression | ts.ObjectLiteralExpression;
  readonly name: ts.Expression;
  readonly options: ts.Expression | undefined;
}

export type Value =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "definition"; readonly definition: DefinitionNode };

/** Longer ways, such as constants that name each other in a circle, are given up. */
const MAX_STEPS = 30;
const MAX_VALUES = 50;

export class Constants {
  readonly #project: Project;
  readonly #ts: Project["ts"];
  readonly #checker: ts.TypeChecker;

  constructor(project: Project) {
    this.#project = project;
    this.#ts = project.ts;
    this.#checker = project.checker;
  }

  /** Everything it may be; undefined if part of it is not known. */
  valuesOf(expression: ts.Expression, steps = 0): readonly Value[] | undefined {
    if (steps > MAX_STEPS) return undefined;
    const bare = this.bare(expression);
    const read = this.#read(bare, steps + 1);
    const values = read ?? this.#literalTypes(bare);
    return values !== undefined && values.length > 0 && values.length <= MAX_VALUES ? values : undefined;
  }

  textsOf(expression: ts.Expression, steps = 0): readonly string[] | undefined {
    const values = this.valuesOf(expression, steps);
    const texts = values?.flatMap((value) => (value.kind === "text" ? [value.text] : []));
    return texts?.length === values?.length ? texts : undefined;
  }

  /** The object literal that an expression stands for. */
  objectOf(expression: ts.Expression | undefined, steps = 0): ts.ObjectLiteralExpression | undefined {
    if (expression === undefined || steps > MAX_STEPS) return undefined;
    const bare = this.bare(expression);
    if (this.#ts.isObjectLiteralExpression(bare)) return bare;
    return this.objectOf(this.#initializerOf(bare), steps + 1);
  }

  /** Members of an object literal, those of objects it spreads included; the later of two counts. */
  membersOf(object: ts.ObjectLiteralExpression, steps = 0): Map<string, ts.ObjectLiteralElementLike> {
    const members = new Map<string, ts.ObjectLiteralElementLike>();
    for (const member of object.properties) {
      if (this.#ts.isSpreadAssignment(member)) {
        const spread = steps > MAX_STEPS ? undefined : this.objectOf(member.expression);
        for (const [name, inner] of spread === undefined ? [] : this.membersOf(spread, steps + 1))
          members.set(name, inner);
        continue;
      }
      const name = this.#memberName(member);
      if (name !== undefined) members.set(name, member);
    }
    return members;
  }

  /** What a member is set to. */
  memberValue(member: ts.ObjectLiteralElementLike | undefined): ts.Expression | undefined {
    if (member === undefined) return undefined;
    if (this.#ts.isPropertyAssignment(member)) return member.initializer;
    return this.#ts.isShorthandPropertyAssignment(member) ? member.name : undefined;
  }

  /** Without parentheses and assertions, which change types only. */
  bare(expression: ts.Expression): ts.Expression {
    const { isParenthesizedExpression, isAsExpression, isSatisfiesExpression, isNonNullExpression } =
      this.#ts;
    let bare = expression;
    while (
      isParenthesizedExpression(bare) ||
      isAsExpression(bare) ||
      isSatisfiesExpression(bare) ||
      isNonNullExpression(bare)
    ) {
      bare = bare.expression;
    }
    return bare;
  }

  #read(expression: ts.Expression, steps: number): readonly Value[] | undefined {
    const ts = this.#ts;
    if (ts.isStringLiteralLike(expression)) return [{ kind: "text", text: expression.text }];
    if (ts.isTemplateExpression(expression)) return this.#template(expression, steps);
    if (ts.isBinaryExpression(expression)) return this.#binary(expression, steps);
    if (ts.isConditionalExpression(expression))
      return this.#either(expression.whenTrue, expression.whenFalse, steps);
    if (ts.isArrayLiteralExpression(expression)) return this.#all(expression.elements, steps);
    if (ts.isCallExpression(expression)) return this.#call(expression);
    if (ts.isObjectLiteralExpression(expression)) return this.#object(expression, steps);
    const initializer = this.#initializerOf(expression);
    return initializer === undefined ? undefined : this.valuesOf(initializer, steps);
  }

  #template(template: ts.TemplateExpression, steps: number): readonly Value[] | undefined {
    let texts: readonly string[] | undefined = [template.head.text];
    for (const { expression, literal } of template.templateSpans) {
      const parts = this.textsOf(expression, steps);
      texts = joined(texts, parts, literal.text);
    }
    return asValues(texts);
  }

  #binary(expression: ts.BinaryExpression, steps: number): readonly Value[] | undefined {
    const { SyntaxKind } = this.#ts;
    const { left, right, operatorToken } = expression;
    switch (operatorToken.kind) {
      case SyntaxKind.PlusToken:
        return asValues(joined(this.textsOf(left, steps), this.textsOf(right, steps)));
      case SyntaxKind.QuestionQuestionToken:
      case SyntaxKind.BarBarToken:
        return this.#either(left, right, steps);
      default:
        return undefined;
    }
  }

  #either(one: ts.Expression, other: ts.Expression, steps: number): readonly Value[] | undefined {
    return this.#all([one, other], steps);
  }

  #all(expressions: readonly ts.Expression[], steps: number): readonly Value[] | undefined {
    const values: Value[] = [];
    for (const expression of expressions) {
      const inner = this.#ts.isSpreadElement(expression) ? expression.expression : expression;
      const some = this.valuesOf(inner, steps);
      if (some === undefined) return undefined;
      values.push(...some);
    }
    return values;
  }

  #call(call: ts.CallExpression): readonly Value[] | undefined {
    const [name, options] = call.arguments;
    if (name === undefined || this.calleeOf(call) !== "defineTopic") return undefined;
    return [{ kind: "definition", definition: { node: call, name, options } }];
  }

  /** `{ name: "orders", … }` or `{ ...Orders, partitions: 4 }`. */
  #object(object: ts.ObjectLiteralExpression, steps: number): readonly Value[] | undefined {
    const name = this.memberValue(this.membersOf(object).get("name"));
    if (name !== undefined)
      return [{ kind: "definition", definition: { node: object, name, options: object } }];
    for (const member of object.properties) {
      const spread = this.#ts.isSpreadAssignment(member)
        ? this.valuesOf(member.expression, steps)
        : undefined;
      if (spread?.[0]?.kind === "definition") return spread;
    }
    return undefined;
  }

  /** What a constant, an imported constant, or a member of a constant object was set to. */
  #initializerOf(expression: ts.Expression): ts.Expression | undefined {
    const ts = this.#ts;
    if (ts.isElementAccessExpression(expression)) {
      const object = this.objectOf(expression.expression);
      const [name] = this.textsOf(expression.argumentExpression) ?? [];
      return object && name !== undefined ? this.memberValue(this.membersOf(object).get(name)) : undefined;
    }
    if (!ts.isIdentifier(expression) && !ts.isPropertyAccessExpression(expression)) return undefined;
    return this.#initialOf(this.symbolAt(expression));
  }

  /** The symbol that a name means, looked up through imports. */
  symbolAt(expression: ts.Expression): ts.Symbol | undefined {
    const { SymbolFlags, isShorthandPropertyAssignment } = this.#ts;
    const { parent } = expression;
    const symbol = isShorthandPropertyAssignment(parent)
      ? this.#checker.getShorthandAssignmentValueSymbol(parent)
      : this.#checker.getSymbolAtLocation(expression);
    if (symbol === undefined || (symbol.flags & SymbolFlags.Alias) === 0) return symbol;
    return this.#checker.getAliasedSymbol(symbol);
  }

  #initialOf(symbol: ts.Symbol | undefined): ts.Expression | undefined {
    const ts = this.#ts;
    const declaration = symbol?.valueDeclaration ?? symbol?.declarations?.[0];
    if (declaration === undefined) return undefined;
    if (ts.isVariableDeclaration(declaration))
      return isConst(ts, declaration) ? declaration.initializer : undefined;
    if (ts.isPropertyAssignment(declaration)) return declaration.initializer;
    if (ts.isShorthandPropertyAssignment(declaration)) return declaration.name;
    if (ts.isExportAssignment(declaration)) return declaration.expression;
    if (ts.isPropertyDeclaration(declaration)) {
      const fixed = (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Readonly) !== 0;
      return fixed ? declaration.initializer : undefined;
    }
    return undefined;
  }

  #memberName(member: ts.ObjectLiteralElementLike): string | undefined {
    const { name } = member;
    if (name === undefined) return undefined;
    if (this.#ts.isComputedPropertyName(name)) return this.textsOf(name.expression)?.[0];
    return this.#ts.isIdentifier(name) ||
      this.#ts.isStringLiteralLike(name) ||
      this.#ts.isNumericLiteral(name)
      ? name.text
      : undefined;
  }

  /** A parameter or a field that is typed by literals: `"orders.placed" | "orders.paid"`; enums as well. */
  #literalTypes(expression: ts.Expression): readonly Value[] | undefined {
    const type = this.#checker.getTypeAtLocation(expression);
    const types = type.isUnion() ? type.types : [type];
    const texts = types.map((each) => (each.isStringLiteral() ? each.value : undefined));
    return asValues(texts.includes(undefined) ? undefined : (texts as string[]));
  }

  /** `publish` of `bus.publish(…)`; a function by the name it was declared with, whatever it was imported as. */
  calleeOf(call: ts.CallExpression): string | undefined {
    const { expression } = call;
    if (this.#ts.isPropertyAccessExpression(expression)) return expression.name.text;
    if (!this.#ts.isIdentifier(expression)) return undefined;
    return this.symbolAt(expression)?.name ?? expression.text;
  }

  /** Whether an expression's type has a member of that name that may be there. */
  hasMember(expression: ts.Expression | undefined, name: string): boolean {
    if (expression === undefined) return false;
    const symbol = this.#project.checker.getTypeAtLocation(expression).getProperty(name);
    if (symbol === undefined) return false;
    const type = this.#checker.getTypeOfSymbolAtLocation(symbol, expression);
    return (type.flags & this.#ts.TypeFlags.Undefined) === 0;
  }
}

function isConst(ts: Project["ts"], declaration: ts.VariableDeclaration): boolean {
  return (ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const) !== 0;
}

function joined(
  heads: readonly string[] | undefined,
  tails: readonly string[] | undefined,
  end = "",
): readonly string[] | undefined {
  return heads && tails && heads.flatMap((head) => tails.map((tail) => head + tail + end));
}

function asValues(texts: readonly string[] | undefined): readonly Value[] | undefined {
  return texts?.map((text) => ({ kind: "text", text }));
}
