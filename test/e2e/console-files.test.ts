/** The console as files: what it weighs, how it is served, and that no route of the interface is hidden by a page. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../support/hub-fixture.js";

const built = fileURLToPath(new URL("../../dist/console/", import.meta.url));
const FIRST_LOAD_BYTES = 150_000;

let fixture: HubFixture;
beforeAll(async () => {
  fixture = await hubFixture();
});
afterAll(() => fixture.close());

const plain = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(fixture.hub.url + path, { headers });

describe("the console's files", () => {
  it("loads for the first time in less than 150 kB, whatever page comes first", () => {
    const page = readFileSync(`${built}index.html`, "utf8");
    const named = [...page.matchAll(/\/assets\/[\w.-]+\.(?:js|css)/g)].map(([path]) => path);
    const size = (path: string): number => readFileSync(`${built}${path}.gz`).length;
    const first = named.reduce((sum, path) => sum + size(path), 0);
    const all = readdirSync(`${built}assets`).filter((name) => name.endsWith(".gz"));
    const everything = all.reduce((sum, name) => sum + readFileSync(`${built}assets/${name}`).length, 0);
    expect(named.length).toBeGreaterThan(1);
    expect(first).toBeLessThan(FIRST_LOAD_BYTES);
    expect(everything).toBeLessThan(FIRST_LOAD_BYTES);
  });

  it("asks nothing of anybody else: no address of another host in page, scripts or styles", () => {
    const names = readdirSync(`${built}assets`).filter((name) => /\.(js|css)$/.test(name));
    const texts = [...names.map((name) => `assets/${name}`), "index.html"].map((name) =>
      readFileSync(built + name, "utf8"),
    );
    const hosts = texts.flatMap((text) => [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([url]) => url));
    const known = ["http://www.w3.org", "http://hub", "https://tailwindcss.com", "https://lucide.dev"];
    expect(hosts.filter((host) => !known.includes(host))).toEqual([]);
  });

  it("is served without a token, under a policy that lets it call nothing but its hub", async () => {
    const response = await plain("/");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain("unsafe");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    expect(response.headers.get("cache-control")).toBe("no-cache");
  });

  it("serves hashed files for ever, packed as the browser likes it", async () => {
    const [, script] = /src="\.(\/assets\/[^"]+\.js)"/.exec(await (await plain("/")).text()) ?? [];
    const packed = await plain(String(script), { "accept-encoding": "gzip" });
    expect(packed.headers.get("cache-control")).toContain("immutable");
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(packed.headers.get("vary")).toBe("Accept-Encoding");
    const bare = await plain(String(script), { "accept-encoding": "identity" });
    expect(bare.headers.get("content-encoding")).toBeNull();
    const gz = gunzipSync(readFileSync(`${built}${script}.gz`)).toString();
    expect(await bare.text()).toBe(gz);
  });

  it("answers deep links with the page, and leaves the interface's routes alone", async () => {
    for (const path of ["/ui", "/ui/topics/orders.placed?tab=tail", "/ui/no/such/page"]) {
      expect((await plain(path)).headers.get("content-type")).toContain("text/html");
    }
    for (const path of ["/topics", "/groups", "/dlq", "/views", "/stats"]) {
      expect((await plain(path)).status).toBe(401);
      expect((await fixture.get(path)).headers.get("content-type")).toContain("application/json");
    }
    for (const path of ["/assets/none.js", "/assets/..%2findex.html", "/assets/%2e%2e/index.html"]) {
      expect((await plain(path)).status, path).not.toBe(200);
    }
  });

  it("does not let anybody keep the answer that a file is not there", async () => {
    const { status, headers } = await plain("/assets/index-of-another-build.js");
    expect([status, headers.get("cache-control")]).toEqual([404, "no-store"]);
  });
});
