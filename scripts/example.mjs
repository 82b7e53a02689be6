/**
 * `npm run example -- <name> [arguments]`: strips the types of examples/<name>.ts and runs it on the built package. Types
 * are checked with everything else, by `tsc -b`.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

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
for (const each of names) writeFileSync(join(target, `${each}.js`), stripped(each));
process.env.EXAMPLE_PAGE ??= join(source, `${name}.html`);
const program = join(target, `${name}.js`);
process.argv.splice(1, process.argv.length, program, ...args);
await import(pathToFileURL(program).href);

function stripped(each) {
  const text = readFileSync(join(source, `${each}.ts`), "utf8");
  const options = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
  };
  return ts.transpileModule(text, { compilerOptions: options }).outputText;
}
