/** A hub that a proxy has put below a path of its host, which it takes off: the console is all there. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launch, sees, visit } from "../support/console/browser.js";
import { openShop, type Shop } from "../support/console/shop.js";

const PREFIX = "/tools/bus";

let browser: Browser;
let shop: Shop;
const strays: string[] = [];
const proxy = createServer((asked, answer) => {
  const { url = "", method, headers } = asked;
  if (!url.startsWith(`${PREFIX}/`)) {
    if (url !== "/favicon.ico") strays.push(url);
    answer.writeHead(404).end();
    return;
  }
  const passed = request(new URL(url.slice(PREFIX.length), shop.hub.url), { method, headers }, (got) => {
    answer.writeHead(got.statusCode ?? 502, got.headers);
    got.pipe(answer);
  });
  passed.on("error", () => answer.destroy());
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
});

beforeAll(async () => {
  [browser, shop] = await Promise.all([launch(), openShop()]);
  await once(proxy.listen(0, "127.0.0.1"), "listening");
});
afterAll(async () => {
  await browser?.close();
  proxy.closeAllConnections();
  proxy.close();
  await shop?.close();
});

it("goes from page to page, deep links and the way back included, and asks for nothing elsewhere", async () => {
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${PREFIX}`;
  const { page, context, errors } = await visit(browser, url);
  await sees(page, "mailer is held up");
  await page.getByRole("link", { name: /^Topics/ }).click();
  await page.getByRole("link", { name: "orders.placed" }).click();
  await page.getByRole("heading", { level: 1, name: "orders.placed" }).waitFor();
  expect(page.url()).toBe(`${url}/ui/topics/orders.placed`);
  await page.goto(`${url}/ui/views/orders/order-7`);
  await sees(page, "shipped");
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "orders.placed" }).waitFor();
  expect([errors, strays]).toEqual([[], []]);
  await context.close();
});
