import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WholeFile } from "./whole-file.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-whole-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("a file appears when it is whole, in place of one that was there", async () => {
  const path = join(folder, "a.ndjson");
  writeFileSync(path, "old");
  const file = await WholeFile.begin(path);
  await file.write(Buffer.from("new "));
  expect(readFileSync(path, "utf8")).toBe("old");
  await file.write(Buffer.from("lines"));
  await file.appear();
  await file.end();
  expect(readFileSync(path, "utf8")).toBe("new lines");
  expect(readdirSync(folder)).toEqual(["a.ndjson"]);
});

it("of one that never got whole nothing is left", async () => {
  const path = join(folder, "a.ndjson");
  const file = await WholeFile.begin(path);
  await file.write(Buffer.from("half"));
  await file.end();
  expect(readdirSync(folder)).toEqual([]);
});

it("a device is written to as it is", async () => {
  const file = await WholeFile.begin("/dev/null");
  await file.write(Buffer.from("x"));
  await file.appear();
});
