/** The first signal asks a command to end in order, the second ends it at once. */
import { EXIT } from "./exit-codes.js";

export interface Interruption {
  readonly signal: AbortSignal;
  /** What the signal means for the exit code; 0 while there was none. */
  readonly exitCode: number;
}

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.terminated } as const;

export function listenForInterruption(): Interruption {
  const over = new AbortController();
  const ending = { signal: over.signal, exitCode: 0 };
  for (const [name, code] of Object.entries(CODES)) {
    process.on(name, () => {
      if (over.signal.aborted) process.exit(code);
      ending.exitCode = code;
      over.abort();
    });
  }
  return ending;
}
