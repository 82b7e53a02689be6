/** The console's files, whatever becomes of them while a hub runs: a page never names files that the hub does not have. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OpenAPIHono } from "@hono/zod-openapi";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HubApp } from "./base.js";
import { consoleRoutes } from "./console.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-console-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** As a build does it: what was there before is gone. */
function build(hash: string, missing?: string): void {
  rmSync(folder, { recursive: true });
  mkdirSync(join(folder, "assets"), { recursive: true });
  const files = {
    "index.html": `<script src="./assets/index-${hash}.js"></script><link href="./assets/index-${hash}.css">`,
    [`assets/index-${hash}.js`]: `import("./page-${hash}.js")`,
    [`assets/index-${hash}.js.gz`]: `packed ${hash}`,
    [`assets/index-${hash}.css`]: `/* ${hash} */`,
    [`assets/page-${hash}.js`]: `// ${hash}`,
  };
  for (const [name, text] of Object.entries(files))
    if (name !== missing) writeFileSync(join(folder, name), text);
}

function hub(): HubApp {
  const app: HubApp = new OpenAPIHono();
  consoleRoutes(app, folder);
  return app;
}

/** What a browser gets: the page, what it names, and what that fetches later. */
async function loaded(app: HubApp, hash: string): Promise<number[]> {
  const page = await app.request("/");
  const named = [...(await page.text()).matchAll(/"\.(\/assets\/[^"]+)"/g)].map(([, path]) => String(path));
  expect(named).toEqual([`/assets/index-${hash}.js`, `/assets/index-${hash}.css`]);
  const paths = [...named, `/assets/page-${hash}.js`];
  return Promise.all(paths.map(async (path) => (await app.request(path)).status));
}

describe("the console's files under a running hub", () => {
  it("stay those of one build when another replaces them, before the first look and after it", async () => {
    build("aaaaaaaa");
    const app = hub();
    build("bbbbbbbb");
    expect(await loaded(app, "aaaaaaaa")).toEqual([200, 200, 200]);
    build("cccccccc");
    expect(await loaded(app, "aaaaaaaa")).toEqual([200, 200, 200]);
    expect(await loaded(hub(), "cccccccc")).toEqual([200, 200, 200]);
  });

  it.each([
    ["/", "./"],
    ["/ui", "./"],
    ["/ui/", "../"],
    ["/ui/topics/orders", "../../"],
    ["/ui/views/orders/a%2Fb", "../../../"],
  ])("are named at %s from there: %s", async (path, up) => {
    build("aaaaaaaa");
    const page = await (await hub().request(path, { headers: { "accept-encoding": "gzip, br" } })).text();
    expect(page).toContain(`src="${up}assets/index-aaaaaaaa.js"`);
  });

  it("are looked at again until they are whole", async () => {
    const app = hub();
    expect((await app.request("/")).status).toBe(404);
    build("aaaaaaaa", "assets/index-aaaaaaaa.css");
    const half = await app.request("/ui/topics");
    expect([half.status, await half.text()]).toEqual([404, expect.stringContaining("npm run build")]);
    build("bbbbbbbb");
    expect(await loaded(app, "bbbbbbbb")).toEqual([200, 200, 200]);
  });

  it("are served by their names alone", async () => {
    build("aaaaaaaa");
    const app = hub();
    for (const name of ["index-bbbbbbbb.js", "index-aaaaaaaa.js.gz", "..%2findex.html"])
      expect([name, (await app.request(`/assets/${name}`)).status]).toEqual([name, 404]);
  });
});
