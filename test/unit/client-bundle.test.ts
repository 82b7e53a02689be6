import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { clientBundle } from "../../scripts/client-bundle.mjs";

it("promethean/client for browsers stays under 12 kB compressed, and needs nothing but the browser", async () => {
  const code = await clientBundle();
  expect(code).toMatch(/export\s*\{[^}]*PromClient/);
  expect(code).toContain("SUBSCRIBE");
  expect(code).not.toMatch(/\bfrom\s*"|import\(|\brequire\(|node:|process\.|Buffer\b/);
  expect(gzipSync(code, { level: 9 }).length).toBeLessThan(12_000);
}, 120_000);
