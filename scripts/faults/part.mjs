/**
 * Runs one part of the fault run that is written in test/faults, in this process, and prints its report as a line of JSON.
 *
 *   node scripts/faults/part.mjs <file> <function> <options as JSON> [name of a program that it starts]
 */
import { compileProgram } from "../embedded-sources.mjs";

const [file, name, options, program] = process.argv.slice(2);
const compiled = (path) => compileProgram(new URL(`../../test/${path}.ts`, import.meta.url));
const { budgetMs = 0, ...rest } = JSON.parse(options);
const module = await import((await compiled(file)).href);
const report = await module[name]({
  ...rest,
  untilMs: performance.now() + budgetMs,
  ...(program !== undefined && { program: await compiled(program) }),
});
console.log(JSON.stringify(report));
