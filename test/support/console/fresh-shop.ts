/** A browser for all tests of a file, and a shop of its own for each; what went wrong in a page fails the test that visited it. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { launch } from "./browser.js";
import { openShop, type Shop } from "./shop.js";
import { Visits } from "./visits.js";

export interface FreshShop {
  readonly shop: Shop;
  /** Without a token nobody is signed in. */
  at(path: string, token?: string | null): Promise<Page>;
}

export function useFreshShop(): FreshShop {
  let browser: Browser;
  let shop: Shop;
  const visits = new Visits();
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    shop = await openShop();
  });
  afterEach(async () => {
    const errors = await visits.end();
    await shop.close();
    expect(errors).toEqual([]);
  });
  return {
    get shop() {
      return shop;
    },
    at: (path, token) => visits.begin(browser, shop.hub.url, { path, ...(token !== undefined && { token }) }),
  };
}
