/** A real browser for the tests of the console, and what they do with it again and again. */
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { FLAGS, findChromium } from "../../../scripts/chromium.mjs";
import { ADMIN } from "./shop.js";

export const SOON = { timeout: 60_000 };

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: FLAGS });
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What went wrong in the page: script errors, and refusals of the policy. */
  readonly errors: string[];
}

/** A fresh visitor, signed in by the link unless the token is null. */
export async function visit(
  browser: Browser,
  url: string,
  o: { readonly path?: string; readonly token?: string | null; readonly width?: number } = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: o.width ?? 1280, height: 900 },
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(SOON.timeout);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy|Uncaught/.test(message.text()))
      errors.push(message.text());
  });
  const { path = "/", token = ADMIN } = o;
  if (token === null) await page.goto(url + path);
  else {
    await page.goto(`${url}${path}#token=${token}`);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
  }
  return { page, context, errors };
}

/** The text is, or comes, somewhere on the page. */
export async function sees(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor();
}
