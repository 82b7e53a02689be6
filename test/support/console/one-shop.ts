/** A browser and a shop that all tests of a file share; what went wrong in a page fails the test that visited it. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { launch } from "./browser.js";
import { openShop, type Shop } from "./shop.js";
import { Visits } from "./visits.js";

export interface OneShop {
  readonly browser: Browser;
  readonly shop: Shop;
  readonly visits: Visits;
  at(path: string, width?: number): Promise<Page>;
}

export function useOneShop(fill: (shop: Shop) => Promise<void> = async () => undefined): OneShop {
  let browser: Browser;
  let shop: Shop;
  const visits = new Visits();
  beforeAll(async () => {
    browser = await launch();
    shop = await openShop();
    await fill(shop);
  });
  afterEach(async () => {
    expect(await visits.end()).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.close();
  });
  return {
    visits,
    get browser() {
      return browser;
    },
    get shop() {
      return shop;
    },
    at: (path, width = 1280) => visits.begin(browser, shop.hub.url, { path, width }),
  };
}
