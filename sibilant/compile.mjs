/**
 * Compiles a .sib program to a JavaScript module: `node sibilant/compile.mjs program.sib > program.mjs`. Lines such as
 * (include "prom/event") bring in the macros beside this file, or a .sib beside the program.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import sibilant from "sibilant";

const here = dirname(fileURLToPath(import.meta.url));
const INCLUDE = /^\(include "([^"]+)"\)$/gm;

export function compileFile(path) {
  const compiled = sibilant.sibilize(withIncludes(resolve(path)));
  return `${typeof compiled === "string" ? compiled : compiled.js}\n`;
}

function withIncludes(path) {
  return readFileSync(path, "utf8").replaceAll(INCLUDE, (_, name) => withIncludes(find(name, dirname(path))));
}

function find(name, folder) {
  const found = [folder, here].map((each) => join(each, `${name}.sib`)).find((each) => existsSync(each));
  if (found === undefined) throw new Error(`there is no ${name}.sib beside the program or in ${here}`);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , program] = process.argv;
  if (program === undefined) {
    console.error("node sibilant/compile.mjs <program.sib>");
    process.exit(2);
  }
  process.stdout.write(compileFile(program));
}
