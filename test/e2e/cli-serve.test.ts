/** `promethean serve` as operators run it: a file of its own, secrets of its own, and an end that is clean. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt, run, start } from "../support/cli.js";
import { SECRET } from "../support/cli-scene.js";
import { eventually } from "../support/eventually.js";

beforeAll(ensureBuilt);

describe("promethean serve", () => {
  it("serves with a file and secrets of its own, turns strangers away, and ends with 0 on SIGTERM", async () => {
    const folder = mkdtempSync(join(tmpdir(), "promethean-serve-"));
    writeFileSync(join(folder, "secret"), SECRET);
    writeFileSync(
      join(folder, "hub.yaml"),
      "store: bus.db\nexclusive: true\nport: 0\nauth: { jwt: { secretFile: secret } }\ntopics: [{ name: shop.orders, partitions: 3 }]\n",
    );
    const hub = start(["serve", "--config", "hub.yaml"], { cwd: folder });
    try {
      await eventually(() => hub.err.includes("listening"), "the hub listens", 60_000);
      const url = /"url":"([^"]+)"/.exec(hub.err)?.[1] ?? "";
      // It waits a while for the other to let go of the file.
      const refused = run(["topics", "--store", "bus.db"], { cwd: folder });
      const minted = await run(
        ["token", "mint", "--subject", "a", "--scope", "read:**", "--secret-file", "secret"],
        { cwd: folder },
      );
      const listed = await run(["topics", "--json", "--url", url, "--token", minted.out.trim()]);
      expect(JSON.parse(listed.out)).toMatchObject([{ name: "shop.orders", partitions: 3 }]);
      expect((await run(["topics", "--url", url])).code).toBe(4);
      const second = await refused;
      expect(second.err).toContain("is open elsewhere with `exclusive`");
      expect(second.code).toBeGreaterThan(0);
      const printed = await run(["config", "print", "--config", "hub.yaml"], { cwd: folder });
      expect(printed.out).toContain('secret: "***"');
      expect(printed.out).not.toContain(SECRET);
      hub.child.kill("SIGTERM");
      expect((await hub.ended).code).toBe(0);
      for (const line of hub.err.trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
      expect(readFileSync(join(folder, "bus.db")).length).toBeGreaterThan(0);
    } finally {
      hub.child.kill("SIGKILL");
      await hub.ended;
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("names the key that is wrong, and refuses to be open to the world", async () => {
    const env = { PROMETHEAN_STORE: "x.db", PROMETHEAN_ADMIN_TOKEN: "short" };
    const short = await run(["config", "check"], { env });
    expect(short.code).toBe(5);
    expect(short.err).toContain("auth.tokens.0.token");
    const open = await run(["config", "check"], { env: { PROMETHEAN_STORE: "x.db" } });
    expect(open).toMatchObject({ code: 5 });
    expect(open.err).toContain("PROMETHEAN_ADMIN_TOKEN");
  });
});
