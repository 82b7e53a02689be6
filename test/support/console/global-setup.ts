/** The console is built once for all tests that open it, and only when its sources changed. */
import { buildConsoleIfChanged } from "../../../scripts/build.mjs";

export function setup(): void {
  buildConsoleIfChanged((line) => process.stderr.write(`${line}\n`));
}
