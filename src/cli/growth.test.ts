import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { watchGrowth } from "./growth.js";

it("tells how large a file is that grows, once it is there, until that is over", async () => {
  const folder = mkdtempSync(join(tmpdir(), "promethean-growth-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "copy.db.partial");
  const over = new AbortController();
  const sizes: number[] = [];
  const watched = watchGrowth(file, (bytes) => void sizes.push(bytes), over.signal);
  appendFileSync(file, "x".repeat(10));
  await expect.poll(() => sizes.at(-1)).toBe(10);
  appendFileSync(file, "x".repeat(7));
  await expect.poll(() => sizes.at(-1)).toBe(17);
  over.abort();
  const told = sizes.length;
  await watched;
  expect(sizes).toHaveLength(told);
});
