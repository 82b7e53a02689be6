/** Asks before what cannot be taken back. Without a terminal to ask on, --yes must have been given. */
import { createInterface } from "node:readline/promises";
import { failure, usageError } from "./exit.js";

export async function demandConsent(
  question: string,
  o: { readonly yes?: boolean; readonly signal: AbortSignal },
): Promise<void> {
  if (o.yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usageError(
      `${question} There is nobody to ask`,
      "add --yes to do it, or --dry-run to see what it would do",
    );
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  // In raw mode Ctrl-C is a key; it is to mean what it means everywhere else.
  asking.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    // The end of the input, too, is no yes.
    const answer = await asking.question(`${question} [y/N] `, { signal: o.signal }).catch(() => "");
    if (!/^y(es)?$/i.test(answer.trim())) throw failure("ABORTED", "nothing was changed");
  } finally {
    asking.close();
  }
}
