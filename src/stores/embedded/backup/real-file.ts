/**
 * The file that a path leads to. What lies beside a store (its log, its lock, its file ahead) is named after the file itself,
 * so that all who open it find the same, by whichever link they came.
 */
import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** As many as Linux follows. */
const MAX_LINKS = 40;

/** The file need not be there yet, nor what a link points to. A path that leads nowhere is left to whoever opens it. */
export async function realFile(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const folder = await realpath(dirname(at)).catch(() => undefined);
    if (folder === undefined) return at;
    at = join(folder, basename(at));
    const target = await readlink(at).catch(() => undefined);
    if (target === undefined) return at;
    at = resolve(folder, target);
  }
  return path;
}
