/** A folder that is gone when the process ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "promethean-example-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
