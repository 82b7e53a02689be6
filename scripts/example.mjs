/**
 * `npm run example -- <name> [arguments]`: strips the types of examples/<name>.ts and runs it on the built package. Types
 * are checked with everything else, by `tsc -b`.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, "examples");
const target = join(root, ".cache", "examples");

const names = readdirSync(source)
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.slice(0, -3));
const [name, ...args] = process.argv.slice(2);

if (name === undefined || !names.includes(name)) {
  const known = names.filter((each) => each !== "temporary-folder").join(", ");
  console.error(`npm run example -- <name>, with one of: ${known}`);
  process.exit(2);
}
mkdirSync(target, { recursive: true });
const changed = names.filter((each) => changedMs(compiled(each)) <= changedMs(sourceOf(each)));
if (changed.length > 0) {
  const { default: ts } = await import("typescript");
  for (const each of changed) writeFileSync(compiled(each), stripped(ts, sourceOf(each)));
}
process.env.EXAMPLE_PAGE ??= join(source, `${name}.html`);
const program = compiled(name);
process.argv.splice(1, process.argv.length, program, ...args);
await import(pathToFileURL(program).href);

function sourceOf(each) {
  return join(source, `${each}.ts`);
}

function compiled(each) {
  return join(target, `${each}.js`);
}

/** 0: it is not there. */
function changedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function stripped(ts, path) {
  const options = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
  };
  return ts.transpileModule(readFileSync(path, "utf8"), { compilerOptions: options }).outputText;
}
