/** What must hold on every page: hostile data stays text, lost hubs come back, keys suffice, nobody is locked out. */
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { Fatal } from "../../src/model/errors.js";
import { SOON, sees, visit } from "../support/console/browser.js";
import { useOneShop } from "../support/console/one-shop.js";
import { Orders } from "../support/console/shop.js";
import { gate } from "../support/eventually.js";
import { hubFixture } from "../support/hub-fixture.js";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

const scene = useOneShop();
const { at } = scene;

/** By how much what is inside is wider than what can be seen of it. */
function wider(page: Page, selector: string): Promise<number> {
  return page
    .locator(selector)
    .first()
    .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
}

/** Where the first letter of a word stands. */
const LEFT_IN_PANEL = `(word) => {
  const texts = document.createTreeWalker(document.querySelector("aside"), NodeFilter.SHOW_TEXT);
  while (!texts.nextNode()?.data.includes(word));
  const range = document.createRange();
  const at = texts.currentNode.data.indexOf(word);
  range.setStart(texts.currentNode, at);
  range.setEnd(texts.currentNode, at + 1);
  return range.getBoundingClientRect().left;
}`;

const EVIL = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`;

describe("hostile data", () => {
  it("shows markup in keys, headers, payloads, tags and errors as text, on every page that shows them", async () => {
    const topic = "evil.events";
    await scene.shop.bus.publish(
      topic,
      { html: EVIL, url: "javascript:window.pwned=1", __proto__: { x: 1 }, "a.b": 1 },
      { key: EVIL, headers: { "x-evil": EVIL }, tags: [EVIL] },
    );
    const stop = await scene.shop.bus.subscribe(
      topic,
      "evil-group",
      () => {
        throw new Fatal(EVIL);
      },
      { from: "earliest" },
    );
    const page = await at(`/ui/topics/${topic}`);
    await page.locator("[data-row='0']").click();
    await page.getByRole("complementary", { name: "Event" }).getByText("x-evil").waitFor();
    await page.goto(`${scene.shop.hub.url}/ui/topics/${topic}?tab=key&key=${encodeURIComponent(EVIL)}`);
    await sees(page, "Open event");
    await page.goto(`${scene.shop.hub.url}/ui/dead-letters/${topic}`);
    await page.locator("[data-row='0']").click();
    await sees(page, /HANDLER_FAILED: <img src=x/);
    await page.goto(`${scene.shop.hub.url}/ui/topics/${encodeURIComponent(EVIL)}`);
    await page.getByRole("heading", { name: EVIL }).waitFor();
    await page.goto(`${scene.shop.hub.url}/ui/views/orders/${encodeURIComponent(EVIL)}`);
    await sees(page, "It is not there now");
    expect(await page.evaluate("window.pwned")).toBeUndefined();
    expect(await page.locator("img").count()).toBe(0);
    await stop();
  });

  it("gives names of any length their column and no more, and shows marks that cannot be seen", async () => {
    const topic = `${"long-name.".repeat(19)}end`;
    const key = `\u202e${"k".repeat(500)}`;
    await scene.shop.bus.publish(
      topic,
      {},
      { key, headers: { [`x-${"h".repeat(200)}`]: "v" }, tags: ["t".repeat(200)] },
    );
    const page = await at("/ui/topics?topics.sort=-name&q=long");
    await page.locator("[data-row='0']").waitFor();
    expect(await wider(page, "[data-table]")).toBe(0);
    await page.goto(`${scene.shop.hub.url}/ui/topics/${topic}`);
    await page
      .locator("[data-row='0']")
      .filter({ hasText: /\\u202ekk/ })
      .click();
    const panel = page.getByRole("complementary", { name: "Event" });
    await panel.getByRole("heading", { level: 2, name: /^\\u202ekk/ }).waitFor();
    await panel.getByText("x-hhh").waitFor();
    expect(await wider(page, "aside > div:nth-child(2)")).toBe(0);
    await scene.shop.bus.publish("order.state", { status: "x", total: 1 }, { key: "\u202eodd" });
    await page.goto(`${scene.shop.hub.url}/ui/views/orders`);
    await sees(page, "\\u202eodd");
  });

  it("keeps names left of their values, whichever way these are written", async () => {
    await scene.shop.bus.publish("rtl.events", { שם: "ערך" });
    const page = await at("/ui/topics/rtl.events");
    await page.locator("[data-row='0']").click();
    await page.getByRole("complementary", { name: "Event" }).getByText('"ערך"').waitFor();
    const [name, value] = await page.evaluate<number[]>(`["שם", "ערך"].map(${LEFT_IN_PANEL})`);
    expect(name).toBeLessThan(value ?? 0);
  });

  it("runs no script that somebody slipped into the page", async () => {
    const { page, context } = await visit(scene.browser, scene.shop.hub.url);
    await page.evaluate(`
      const script = document.createElement("script");
      script.textContent = "window.pwned = 2";
      document.body.append(script);
    `);
    expect(await page.evaluate("window.pwned")).toBeUndefined();
    await context.close();
  });
});

describe("a hub that is open to all", () => {
  it("asks for no token, and offers no sign-out", async () => {
    const bare = await hubFixture({ auth: "none" });
    const { page, context } = await visit(scene.browser, bare.hub.url, { token: null });
    await sees(page, "No groups yet");
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    await context.close();
    await bare.close();
  });
});

describe("a hub that goes away", () => {
  it("keeps what was shown, says how old it is, and goes on by itself when the hub is back", async () => {
    const page = await at("/ui/topics/orders.placed?tab=tail");
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    await scene.shop.restart(async () => {
      await sees(page, /Reconnecting, last update .+ ago/);
      // Called out once, not each second anew.
      await page.getByRole("status").getByText("Reconnecting", { exact: true }).waitFor();
      await scene.shop.bus.publish(Orders, { order: 3, customer: "meanwhile" }, { key: "in-between" });
      await page.getByRole("heading", { name: "orders.placed" }).waitFor();
    });
    await expect.poll(() => page.getByText(/Reconnecting, last update/).count(), SOON).toBe(0);
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    await page.getByRole("row").filter({ hasText: "in-between" }).waitFor();
    await scene.shop.bus.publish(Orders, { order: 3, customer: "back" }, { key: "back-again" });
    await page.getByRole("row").filter({ hasText: "back-again" }).waitFor();
  });

  it("stops asking while live updates are off", async () => {
    const page = await at("/ui/groups");
    await page.getByRole("link", { name: "mailer" }).waitFor();
    await page.getByRole("button", { name: "Live", exact: true }).click();
    await page.getByRole("button", { name: "Paused" }).waitFor();
    let asked = 0;
    page.on("request", () => {
      asked++;
    });
    await page.getByRole("button", { name: "Paused" }).waitFor();
    const before = asked;
    await page.getByRole("button", { name: "Dark theme" }).click();
    await page.locator("html[data-theme=dark]").waitFor();
    expect(asked - before).toBeLessThanOrEqual(1);
    await page.getByRole("button", { name: "Paused" }).click();
    await expect.poll(() => asked, SOON).toBeGreaterThan(before + 1);
  });
});

/** `g` and a letter, pressed anew when the machine was too slow for the two to count as one. */
async function chord(page: Page, letter: string, title: string): Promise<void> {
  const heading = page.getByRole("heading", { name: title, level: 1 });
  for (let tries = 0; tries < 20; tries++) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
    const arrived = await heading.waitFor({ timeout: 5_000 }).then(
      () => true,
      () => false,
    );
    if (arrived) return;
  }
  throw new Error(`g ${letter} never led to ${title}`);
}

describe("the keyboard alone", () => {
  it("redrives dead letters: g d, j, Enter, Tab to the button, Enter", async () => {
    const page = await at("/");
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focusOn = async (name: RegExp): Promise<void> => {
      for (let i = 0; i < 80; i++) {
        const text = await page.evaluate<string>("document.activeElement?.textContent ?? ''");
        if (name.test(text)) return;
        await press("Tab");
      }
      throw new Error(`Tab never came to ${name}`);
    };
    await chord(page, "d", "Dead letters");
    await page.locator("[data-row='0']").waitFor();
    await press("j", "j", "k");
    await expect
      .poll(() => page.evaluate("document.activeElement?.getAttribute('data-row')"), SOON)
      .toBe("0");
    await press("Enter");
    await page.getByRole("heading", { level: 1, name: /orders.placed|evil.events/ }).waitFor();
    await page.locator("#content:focus").waitFor();
    await page.goto(`${scene.shop.hub.url}/ui/dead-letters/orders.placed`);
    await page.getByRole("button", { name: /Redrive 4 events…/ }).waitFor();
    scene.shop.rules.strict = false;
    await focusOn(/^Redrive 4 events…$/);
    await press("Enter");
    await page.locator("[data-dry-run='4']").waitFor();
    await focusOn(/^Redrive 4 events to orders.placed$/);
    await press("Enter");
    await page.locator("[data-job='done']").waitFor();
    await press("Escape");
    await sees(page, "Nothing waits for a decision");
  });

  it("goes through tabs with the arrows", async () => {
    const page = await at("/ui/topics/orders.placed");
    await page.getByRole("tab", { name: "Events" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tab", { name: "Live tail", selected: true }).waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("tab", { name: "Groups", selected: true }).waitFor();
    expect(await page.evaluate("document.activeElement?.textContent")).toBe("Groups");
  });

  it("jumps with the palette, filters with /, lists the keys with ?", async () => {
    const page = await at("/");
    // Where the list comes to lie: a pointer that rests chooses nothing.
    await page.mouse.move(640, 300);
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: "Overview Page", selected: true }).waitFor();
    await page.getByRole("combobox").fill("mailer");
    await page.getByRole("option", { name: "mailer Group" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "mailer", level: 1 }).waitFor();
    await chord(page, "t", "Topics");
    await page.locator("[data-main-filter]").waitFor();
    await page.keyboard.press("/");
    await page.locator("[data-main-filter]:focus").waitFor();
    await page.keyboard.type("order.st");
    await expect.poll(() => page.locator("[data-row]").count(), SOON).toBe(1);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Next and previous row").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count(), SOON).toBe(0);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(scene.shop.mail);
    await page.getByRole("option", { name: /Trace event/ }).waitFor();
    await page.keyboard.press("Enter");
    await sees(page, "2 events in 2 topics");
  });
});

describe("the overview", () => {
  /** All that moved by itself since the page was opened, in Chromium's measure: parts of the window. */
  const SHIFTS = `
    window.shifted = 0;
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifted += value;
    }).observe({ type: "layout-shift", buffered: true });
  `;

  it("comes back after a hub that stumbled once", async () => {
    const page = await at("/ui/topics");
    await page.route("**/stats", (route) => route.fulfill({ status: 500, json: { code: "INTERNAL" } }), {
      times: 1,
    });
    await page.goto(scene.shop.hub.url);
    await sees(page, "Store and feeds");
  });

  it.each([1280, 768, 390])("stays where it is while its parts arrive, %i px wide", async (width) => {
    const page = await at("/ui/topics", width);
    await page.addInitScript(SHIFTS);
    const parts = ["**/stats", "**/groups/mailer/why?*", "**/tasks", "**/overview"];
    const gates = parts.map((part) => ({ part, ...gate() }));
    for (const { part, passed } of gates)
      await page.route(part, (route) => passed.then(() => route.continue()));
    await page.goto(scene.shop.hub.url);
    // Each comes when the one before it has been painted.
    for (const { part, open: goOn } of gates) {
      const answered = page.waitForResponse(part);
      goOn();
      await answered;
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }
    const attention = page.getByRole("region", { name: "Needs attention" });
    await attention.getByText(/SMTP timeout/).waitFor();
    await sees(page, "Store and feeds");
    expect(await page.evaluate<number>("window.shifted")).toBeLessThan(0.01);
  });
});

const PAGES = [
  "/",
  "/ui/topics",
  "/ui/topics/orders.placed",
  "/ui/topics/orders.placed?tab=partitions",
  "/ui/groups",
  "/ui/groups/mailer",
  "/ui/dead-letters",
  "/ui/dead-letters/orders.placed?status=any",
  "/ui/views",
  "/ui/views/orders",
  "/ui/views/orders/order-7",
  "/ui/schemas",
  "/ui/schemas/orders.placed",
  "/ui/trace",
  "/ui/operations",
  "/ui/operations?tab=access",
  "/ui/operations?tab=audit",
  "/ui/processes",
];

async function seriousFindings(page: Page, path: string): Promise<string[]> {
  await page.goto(scene.shop.hub.url + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await expect.poll(() => page.getByRole("status", { name: "Loading" }).count(), SOON).toBe(0);
  const { violations } = await page.evaluate<AxeResults>(
    'axe.run({ resultTypes: ["violations"], preload: false })',
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${path}: ${id} at ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

/** Which of the chosen pages and tabs lie beyond the edges of the window. */
const CHOSEN_OUTSIDE = `
  [...document.querySelectorAll("nav [aria-current], [role=tab][aria-selected=true]")]
    .filter((element) => {
      const { left, right } = element.getBoundingClientRect();
      return left < -1 || right > innerWidth + 1;
    })
    .map(({ textContent }) => textContent)
`;

describe("accessibility", () => {
  it.each([
    ["light", PAGES],
    ["dark", ["/", "/ui/groups/mailer", "/ui/views/orders/order-7", "/ui/operations?tab=access"]],
  ] as const)("axe finds nothing serious, %s", async (colorScheme, paths) => {
    const page = await at("/");
    await page.addInitScript({ path: AXE });
    await page.emulateMedia({ colorScheme });
    const found: string[] = [];
    for (const path of paths) found.push(...(await seriousFindings(page, path)));
    expect(found).toEqual([]);
  });

  it("fits a phone: nothing on any page is wider than the screen", async () => {
    const page = await at("/", 390);
    for (const path of PAGES) {
      await page.goto(scene.shop.hub.url + path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(`${path} ${await wider(page, "#content")}`).toBe(`${path} 0`);
      const hidden = await page.evaluate<string[]>(CHOSEN_OUTSIDE);
      expect(`${path} ${hidden}`).toBe(`${path} `);
    }
  });
});
