/**
 * `npm start`: set-up, then `promethean up` in this very process, so that signals, the terminal, PROMETHEAN_PORT,
 * PROMETHEAN_HOST, PROMETHEAN_DATA, PROMETHEAN_STORE and the exit code need no forwarding.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { setup } from "./setup.mjs";

const program = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const ECHO_MS = 500;
const INTERRUPTED = [130, 143];

if (!setup()) process.exit(1);
if (!existsSync(program)) {
  console.error("There is nothing to start: src/cli/main.ts is missing.");
  process.exit(1);
}

let interrupted = false;
dropEchoes(["SIGINT", "SIGTERM"]);
for (const signal of ["SIGINT", "SIGTERM"]) process.prependListener(signal, () => (interrupted = true));
// Ending on request is no failure; with another code npm would print an error report below the program's last words.
process.on("exit", (code) => {
  if (interrupted && INTERRUPTED.includes(code)) process.exitCode = 0;
});

process.argv.splice(1, 1, program, "up");
await import(program);

/**
 * On Ctrl-C the terminal signals npm and this process, and npm hands its copy on: one press arrives twice.
 * The echo must not pass for the impatient second press that forces the end.
 */
function dropEchoes(signals) {
  const emit = process.emit;
  const lastMs = new Map();
  process.emit = function emitOnce(name, ...rest) {
    if (signals.includes(name)) {
      const nowMs = performance.now();
      const echo = nowMs - (lastMs.get(name) ?? Number.NEGATIVE_INFINITY) < ECHO_MS;
      lastMs.set(name, nowMs);
      if (echo) return true;
    }
    return emit.call(process, name, ...rest);
  };
}
