import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { contextOf, readContexts, writeContexts } from "./contexts.js";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-contexts-"));
  file = join(folder, "contexts.json");
  vi.stubEnv("PROMETHEAN_CONTEXTS", file);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

describe("saved connections", () => {
  it("are none as long as nobody saved any", async () => {
    expect(await readContexts()).toEqual({ contexts: {} });
    expect(await contextOf(undefined)).toBeUndefined();
  });

  it("are not none because they cannot be read: the next one that is saved would take their place", async () => {
    mkdirSync(file);
    await expect(readContexts()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `${file} cannot be read (EISDIR)`,
    });
  });

  it("that cannot be saved leave nothing behind, and say where they could be", async () => {
    mkdirSync(file);
    const hint = expect.stringContaining("PROMETHEAN_CONTEXTS=<file>");
    const message = expect.stringContaining(`${file} cannot be written (`);
    await expect(writeContexts({ contexts: {} })).rejects.toMatchObject({ message, hint });
    expect(readdirSync(folder)).toEqual(["contexts.json"]);
    vi.stubEnv("PROMETHEAN_CONTEXTS", "/proc/none/contexts.json");
    await expect(writeContexts({ contexts: {} })).rejects.toMatchObject({ hint });
  });

  it("have the names that were saved, and no others", async () => {
    writeFileSync(file, JSON.stringify({ contexts: { local: { url: "http://127.0.0.1:1" } } }));
    expect(await contextOf("local")).toEqual({ url: "http://127.0.0.1:1" });
    for (const name of ["other", "constructor", "toString", "__proto__"])
      await expect(contextOf(name)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
