/** Files that are on disk for certain. */
import { open } from "node:fs/promises";

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
