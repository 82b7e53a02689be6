/** Files and folders that are on disk for certain. */
import { mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A new or renamed file is on disk only once its folder is. Windows knows no such thing. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform !== "win32") await sync(path);
}

/**
 * With those above it that are missing. Not by Node's own `recursive`: where a folder cannot be made though the one above it is
 * there (ENOENT, as below /proc), that tries for ever.
 */
export async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) await makeFolder(above);
  try {
    await mkdir(path);
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!(await isFolder(path))) throw error;
  }
  await syncFolder(above);
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
