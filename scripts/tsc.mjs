/**
 * The compiler that builds and checks: TypeScript's native one, in a third of the time. What reads sources by the compiler's
 * interface (lint, tests of documents) has the one that is written in JavaScript, which is installed as `typescript`.
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const TSC = join(
  dirname(dirname(fileURLToPath(import.meta.url))),
  "node_modules",
  "typescript-native",
  "bin",
  "tsc",
);
