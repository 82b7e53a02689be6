/**
 * A suite in a process of its own, for `remote-suite.ts`: tells what it has, then measures what it is asked for, one
 * case at a time. Ends when it is told to, or when nobody is there any more.
 */
import { measure } from "./run-suite.js";
import type { Suite } from "./suite.js";
import { loadSuite } from "./suites.js";

export type SuiteRequest = { readonly type: "measure"; readonly index: number } | { readonly type: "close" };

export type SuiteReply =
  /** Without its functions: they do not pass from one process to another. */
  | { readonly type: "ready"; readonly suite: Suite }
  | { readonly type: "measured"; readonly values: readonly number[] }
  | { readonly type: "failed"; readonly message: string };

function tell(reply: SuiteReply): void {
  process.send?.(reply);
}

function fail(error: unknown): void {
  tell({ type: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}

async function answer(suite: Suite, request: SuiteRequest): Promise<void> {
  if (request.type === "close") {
    await suite.close?.();
    process.exit();
  }
  const one = suite.cases[request.index];
  if (one === undefined) throw new Error(`there is no case ${request.index}`);
  tell({ type: "measured", values: await measure(one) });
}

process.once("disconnect", () => process.exit());
try {
  const suite = await loadSuite(process.argv[2] ?? "");
  process.on("message", (request) => void answer(suite, request as SuiteRequest).catch(fail));
  tell({ type: "ready", suite });
} catch (error) {
  fail(error);
}
