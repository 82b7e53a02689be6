/**
 * Finds promises that nobody waits for, with the compiler's own types.
 *
 * Two shapes are reported: a statement that makes a promise (or an array of them) and drops it, and an async
 * function handed to a place that expects no answer, such as a timer or an event listener. `void promise` and a
 * promise with a rejection handler at its end are deliberate. The linter has a quick rule for editors; this check
 * also sees through generics, third-party types and conditional expressions. With --types it tells as well what
 * `tsc -p` finds wrong: both need the types of everything, and they are made once.
 *
 *   node scripts/check-floating-promises.mjs [--types] [tsconfig.json]
 */
import { dirname, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import ts from "typescript";

/** What is wrong with a project, in text; `types`: also what the compiler finds. */
export function problemsOf(configPath, { types = false } = {}) {
  const root = dirname(configPath);
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(configPath, undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (fault) => {
      throw new Error(ts.flattenDiagnosticMessageText(fault.messageText, "\n"));
    },
  });
  const program = ts.createProgram(fileNames, { ...options, noEmit: true });
  const wrong = types ? [...errors, ...ts.getPreEmitDiagnostics(program)] : [];
  const host = { ...ts.createCompilerHost(options), getCurrentDirectory: () => root };
  const told = wrong.map((diagnostic) => ts.formatDiagnostic(diagnostic, host).trimEnd());
  const checker = program.getTypeChecker();
  const faults = program
    .getSourceFiles()
    .filter((file) => !file.isDeclarationFile && !file.fileName.includes("/node_modules/"))
    .flatMap((file) => faultsIn(file, root, checker));
  return [...told, ...faults];
}

function faultsIn(file, root, checker) {
  const found = [];
  const report = (node, words) => {
    const { line, character } = file.getLineAndCharacterOfPosition(node.getStart(file));
    found.push(`${relative(root, file.fileName)}:${line + 1}:${character + 1} ${words}`);
  };
  const visit = (node) => {
    if (ts.isExpressionStatement(node) && floats(node.expression, checker))
      report(node, "this promise is not awaited");
    if (ts.isExpression(node) && isUnwatchedCallback(node, checker)) {
      report(node, "nobody waits for this async function: its caller expects no answer");
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function floats(expression, checker) {
  const node = ts.skipParentheses(expression);
  if (ts.isAwaitExpression(node) || ts.isVoidExpression(node) || isAssignment(node)) return false;
  if (ts.isConditionalExpression(node)) {
    return floats(node.whenTrue, checker) || floats(node.whenFalse, checker);
  }
  if (ts.isBinaryExpression(node)) {
    const comma = node.operatorToken.kind === ts.SyntaxKind.CommaToken;
    return floats(node.right, checker) || (comma && floats(node.left, checker));
  }
  if (handlesRejection(node)) return false;
  const type = checker.getTypeAtLocation(node);
  return isPromise(type, node, checker) || (ts.isCallExpression(node) && isPromiseArray(type, node, checker));
}

function isAssignment(node) {
  if (!ts.isBinaryExpression(node)) return false;
  const { kind } = node.operatorToken;
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

/** `.catch(f)`, `.then(f, g)`, or `.finally(f)` after one of these. */
function handlesRejection(node) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const { name, expression } = node.expression;
  if (name.text === "catch") return node.arguments.length >= 1;
  if (name.text === "then") return node.arguments.length >= 2;
  return name.text === "finally" && handlesRejection(expression);
}

/** A function in call position or a literal one, async by type, where the context asks for one that returns void. */
function isUnwatchedCallback(node, checker) {
  const literal = ts.isArrowFunction(node) || ts.isFunctionExpression(node);
  const argument =
    (ts.isCallExpression(node.parent) || ts.isNewExpression(node.parent)) &&
    node.parent.arguments?.includes(node);
  if (!literal && !argument) return false;
  const context = checker.getContextualType(node);
  if (context === undefined) return false;
  const expected = checker.getNonNullableType(context).getCallSignatures();
  if (expected.length === 0 || !expected.every((signature) => returnsVoid(signature))) return false;
  return checker
    .getTypeAtLocation(node)
    .getCallSignatures()
    .some((signature) => isPromise(signature.getReturnType(), node, checker));
}

function returnsVoid(signature) {
  return (signature.getReturnType().flags & ts.TypeFlags.Void) !== 0;
}

function isPromiseArray(type, node, checker) {
  return unionParts(type).some(
    (part) =>
      checker.isArrayLikeType(part) &&
      checker.getTypeArguments(part).some((element) => isPromise(element, node, checker)),
  );
}

function isPromise(type, node, checker) {
  return unionParts(type).some((part) => {
    const then = checker.getPropertyOfType(checker.getApparentType(part), "then");
    return then !== undefined && checker.getTypeOfSymbolAtLocation(then, node).getCallSignatures().length > 0;
  });
}

function unionParts(type) {
  return type.isUnion() ? type.types : [type];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values, positionals } = parseArgs({
    options: { types: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const problems = problemsOf(resolve(positionals[0] ?? "tsconfig.json"), values);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
