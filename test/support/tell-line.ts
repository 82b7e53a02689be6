/** What a child process says to the one that started it (told-process.ts). */
import { writeSync } from "node:fs";

const never = new Int32Array(new SharedArrayBuffer(4));

/** A JSON line on standard output, which is out when this returns, whatever becomes of the process then. */
export function tellLine(line: object): void {
  let left = Buffer.from(`${JSON.stringify(line)}\n`);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      // The pipe is full: whoever reads it is busy.
      Atomics.wait(never, 0, 0, 1);
    }
  }
}
