/** People who are not the usual: without a mouse, without the screen, on paper, with little room, with a wrong clock. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { createBus } from "../../src/bus/create-bus.js";
import { startHub } from "../../src/hub/server.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { SOON, sees } from "../support/console/browser.js";
import { useOneShop } from "../support/console/one-shop.js";
import { ADMIN } from "../support/console/shop.js";

const scene = useOneShop();
const { at, visits } = scene;

const focused = (page: Page): Promise<string> =>
  page.evaluate<string>("document.activeElement.getAttribute('aria-label') ?? document.activeElement.id");

describe("without a mouse", () => {
  it("a link leads into its page, which is called by its name; Esc gives the focus back", async () => {
    const page = await at("/ui/topics");
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Groups" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page), SOON).toBe("Groups");
    await page.getByRole("link", { name: "mailer" }).focus();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "mailer" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page), SOON).toBe("mailer · Groups");
  });

  it("the arrows go through a chart, and what is there is said", async () => {
    const page = await at("/");
    const chart = page.getByRole("slider", { name: /published, delivered and acked/ });
    const said = (): Promise<string | null> => chart.getAttribute("aria-valuetext");
    await chart.focus();
    await page.keyboard.press("Home");
    await expect.poll(said, SOON).toMatch(/^\d\d:\d\d:\d\d, published \S+, delivered \S+, acked \S+$/);
    await page.keyboard.press("Escape");
    await expect.poll(said, SOON).toBe("newest");
  });
});

/** How far apart the edge of each field and what lies around it are, as WCAG 1.4.11 measures it. */
const EDGES = `
  (() => {
    const brush = document.createElement("canvas").getContext("2d");
    const light = (color) => {
      brush.fillStyle = color;
      brush.fillRect(0, 0, 1, 1);
      const [r, g, b] = [...brush.getImageData(0, 0, 1, 1).data]
        .map((part) => part / 255)
        .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    return [...document.querySelectorAll("input[type=text], select, textarea")]
      .filter((field) => field.checkVisibility())
      .map((field) => {
        const { borderTopColor, backgroundColor } = getComputedStyle(field);
        const [a, b] = [light(borderTopColor), light(backgroundColor)];
        return Math.max(a, b) / Math.min(a, b);
      });
  })()
`;

describe("fields", () => {
  it("can be told from what lies around them, light and dark, and are tied to what is wrong with them", async () => {
    const page = await at("/ui/topics/orders.placed");
    await page.locator("[data-row='0']").waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
      const ratios = await page.evaluate<number[]>(EDGES);
      expect(ratios.length).toBeGreaterThan(3);
      expect([colorScheme, ratios.filter((ratio) => ratio < 3)]).toEqual([colorScheme, []]);
    }
    await page.getByRole("button", { name: "Publish event" }).click();
    const payload = page.getByRole("dialog").getByLabel("Payload (JSON)");
    await payload.fill("{");
    await page.getByRole("alert").waitFor();
    const said = await payload.getAttribute("aria-describedby");
    expect([said, await payload.getAttribute("aria-invalid")]).toEqual([
      await page.getByRole("alert").getAttribute("id"),
      "true",
    ]);
  });
});

const FRAMES = `[...document.querySelectorAll("[role=tab], [role=option]")].map((one) => [
  one.ariaSelected,
  getComputedStyle(one).outlineStyle,
])`;

describe("other ways to look", () => {
  it("with colours of one's own, what is chosen has a frame", async () => {
    const page = await at("/ui/topics/orders.placed");
    await page.emulateMedia({ forcedColors: "active" });
    await page.getByRole("tab", { selected: true }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("option", { selected: true }).waitFor();
    const frames = await page.evaluate<[string, string][]>(FRAMES);
    expect(frames.filter(([selected]) => selected === "true")).toHaveLength(2);
    expect(frames.filter(([selected, frame]) => (selected === "true") !== (frame === "solid"))).toEqual([]);
  });

  it("on paper, a page is all there, dark on light, without what can only be pressed", async () => {
    const page = await at("/");
    await sees(page, "Store and feeds");
    await page.emulateMedia({ colorScheme: "dark", media: "print" });
    await page.locator("html[data-theme=dark]").waitFor();
    const { text, page: height } = await page.evaluate<{ text: string; page: number }>(`({
      text: getComputedStyle(document.querySelector("h1")).color,
      page: document.documentElement.scrollHeight,
    })`);
    expect(text).toBe("rgb(24, 24, 27)");
    // The page is as long as what is on it, and does not scroll inside.
    expect(height).toBeGreaterThan(1_200);
    expect(await page.getByRole("navigation", { name: "Pages" }).isVisible()).toBe(false);
  });
});

describe("little room", () => {
  it("320 px wide no list is scrolled sideways, and the way back is not cut", async () => {
    const view = "orders";
    const key = "k".repeat(200);
    const longKey = await scene.shop.bus.publish(
      "order.state",
      { status: "x".repeat(60), total: 1 },
      { key },
    );
    await scene.shop.bus.publish("orders.placed", { order: 1, customer: "x" }, { key });
    const page = await at("/", 320);
    for (const path of [
      "/ui/topics",
      "/ui/topics/orders.placed",
      "/ui/groups",
      "/ui/views",
      `/ui/views/${view}`,
    ]) {
      await page.goto(scene.shop.hub.url + path);
      await page.locator("[data-row='0']").waitFor();
      const over = await page
        .locator("[data-table]")
        .evaluateAll((tables) => tables.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
      expect([path, over]).toEqual([path, over.map(() => 0)]);
    }
    await page.goto(`${scene.shop.hub.url}/ui/trace/${longKey.id}`);
    await page.getByRole("heading", { name: "order.state", level: 2 }).waitFor();
    const beyond = await page
      .getByRole("region", { name: "order.state" })
      .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    expect(beyond).toBe(0);
    await page.goto(`${scene.shop.hub.url}/ui/views/${"long-name-".repeat(11)}/key`);
    const back = page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Views" });
    expect(await back.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  });

  it("320 px wide no dialog is scrolled sideways, whatever the numbers", async () => {
    const figures = {
      settled: 1_234_567_890,
      deadLettered: 98_765,
      removed: 0,
      inFlight: 12,
      pending: 4_567_890,
    };
    const partitions = [0, 1].map((partition) => ({ partition, ...figures, holes: [] }));
    const page = await at("/ui/groups/mailer?topic=orders.placed", 320);
    await page.route("**/verify?*", (route) => route.fulfill({ json: { ok: true, partitions } }));
    await page.getByRole("button", { name: "Verify" }).click();
    await sees(page, "settled 1,234,567,890, dead letters 98,765, in flight 12, pending 4,567,890");
    const beyond = await page
      .locator("dialog, dialog *")
      .evaluateAll((boxes) =>
        boxes.filter(({ clientWidth }) => clientWidth > 0).map((box) => box.scrollWidth - box.clientWidth),
      );
    expect(Math.max(...beyond)).toBe(0);
  });

  it("at 400 % rows can be seen and opened, and of a dialog all that is asked", async () => {
    const page = await at("/ui/topics/orders.placed", 320);
    await page.setViewportSize({ width: 320, height: 256 });
    await page.locator("[data-row='1']").click();
    // Neither its head nor its buttons take the room of what one came for.
    const panel = page.getByRole("complementary", { name: "Event" });
    await panel.getByRole("region", { name: "payload" }).waitFor();
    expect(await panel.evaluate(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight)).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Publish event" }).click();
    const field = page.getByRole("dialog").getByLabel("Headers");
    await field.fill("a: b");
    const { y, height } = (await field.boundingBox()) ?? { y: -1, height: 0 };
    expect([y >= 0, y + height <= 256]).toEqual([true, true]);
  });

  it("however long a hub's name is, how it does is said", async () => {
    const bus = await createBus({ store: memoryStore() });
    const auth = { tokens: { [ADMIN]: { scopes: ["*:*"] } } };
    const hub = await startHub({ bus, name: "environment-".repeat(20), auth });
    const page = await visits.begin(scene.browser, hub.url, { path: "/ui/topics" });
    const word = page.locator("[data-health=good] span").last();
    await word.waitFor();
    expect(await word.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    await page.close();
    await hub.close();
    await bus.close();
  });
});

/** Without a secure context a page has no clipboard to write to. */
const NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })";

describe("what is said while a dialog is open", () => {
  it("stands in front of it, in a part that is read out, can be dismissed, and outlives it", async () => {
    const page = await at("/ui/trace");
    await page.addInitScript(NO_CLIPBOARD);
    await page.goto(`${scene.shop.hub.url}/ui/groups/mailer?topic=orders.placed`);
    await page.getByRole("button", { name: "Verify" }).click();
    const dialog = page.getByRole("dialog");
    const copy = dialog.getByRole("button", { name: "Copy as CLI command" });
    await copy.click();
    const said = page.getByRole("status").getByText("promethean verify mailer --topic orders.placed");
    // The browser clicks only what lies in front, and finds by its role only what a screen reader finds.
    await said.click();
    await dialog.getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => said.count(), SOON).toBe(0);
    await copy.click();
    await said.waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => dialog.count(), SOON).toBe(0);
    await said.click();
    await page.keyboard.press("Control+k");
    await dialog.getByRole("status").getByText("promethean verify").click();
    // What the dialog's button copied was really copied.
    await dialog.getByRole("combobox").focus();
    await page.keyboard.press("Control+v");
    await expect
      .poll(() => dialog.getByRole("combobox").inputValue(), SOON)
      .toBe("promethean verify mailer --topic orders.placed");
  });
});

const FAST_BY_TWO_HOURS = `
  const Real = Date;
  const now = () => Real.now() + 7_200_000;
  globalThis.Date = class extends Real {
    constructor(...parts) {
      super(...(parts.length > 0 ? parts : [now()]));
    }
    static now = now;
  };
`;

describe("a browser whose clock is wrong", () => {
  it("tells ages by the hub's, and says so", async () => {
    const page = await at("/ui/trace");
    await page.addInitScript(FAST_BY_TWO_HOURS);
    await scene.shop.bus.publish("mails.sent", { now: true }, { key: "just-now" });
    await page.goto(`${scene.shop.hub.url}/ui/topics/mails.sent`);
    await expect
      .poll(() => page.getByRole("row").filter({ hasText: "just-now" }).textContent(), SOON)
      .toMatch(/\d s ago|now/);
    await page.goto(scene.shop.hub.url);
    await sees(page, "this browser's is 2 h ahead of the hub's");
  });
});

describe("a page that is first opened while the hub is away", () => {
  it("says what is going on, and fills itself when the hub is back", async () => {
    // The code of the other pages is not here yet, nor is anything that they show.
    const page = await at("/ui/trace");
    const open = (name: RegExp): Promise<void> =>
      page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
    await scene.shop.restart(async () => {
      for (const name of [/^Overview/, /^Groups/, /^Views/, /^Topics/]) {
        await open(name);
        await page.getByRole("status").getByText("The hub cannot be reached").waitFor();
        expect(await page.getByRole("status", { name: "Loading" }).count()).toBe(0);
      }
    });
    await page.getByRole("link", { name: "orders.placed" }).waitFor();
    // Its code is here now, and what it shows is not.
    await scene.shop.restart(async () => {
      await page.getByText(/Reconnecting, last update/).waitFor();
      await page.getByRole("link", { name: "mails.sent" }).click();
      await page.getByRole("status").getByText("The hub cannot be reached").waitFor();
      expect(await page.getByRole("status", { name: "Loading" }).count()).toBe(0);
    });
    await page.getByRole("tab", { name: "Events" }).waitFor();
  });
});
