/** Much of everything, little room, and the way back: long topics, views of many documents, phones, panels that close. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { defineTopic } from "../../src/model/topic.js";
import { startChangelogProjector } from "../../src/project/views/changelog.js";
import { SOON, sees } from "../support/console/browser.js";
import { useOneShop } from "../support/console/one-shop.js";
import type { Shop } from "../support/console/shop.js";
import { eventually } from "../support/eventually.js";

const EVENTS = 100_000;
const PROCESSES = 1_100;
const Readings = defineTopic<{ n: number }>("sensor.readings", { partitions: 1, keyed: true });
const States = defineTopic("process.state", { partitions: 1, keyed: true });

const scene = useOneShop(fill);
const { at } = scene;

/** One topic with very many events, and a view with more documents than one page has. */
async function fill({ bus }: Shop): Promise<void> {
  for (const topic of [Readings, States]) await bus.defineTopic(topic);
  for (let from = 0; from < EVENTS; from += 10_000) {
    const some = Array.from({ length: 10_000 }, (_, i) => ({
      key: `sensor-${(from + i) % 500}`,
      payload: { n: from + i + 1 },
    }));
    await bus.publishMany(Readings, some);
  }
  const processes = Array.from({ length: PROCESSES }, (_, pid) => ({
    key: `host:${String(pid).padStart(5, "0")}`,
    payload: {
      host: "host",
      name: `worker-${pid}`,
      pid,
      cpu_pct: 1,
      mem_mb: 2,
      status: "alive",
      last_seen_ts: bus.clock.now(),
    },
  }));
  await startChangelogProjector(bus, { topic: States, view: "processes" });
  await bus.publishMany(States, processes);
  const isCaughtUp = async (): Promise<boolean> =>
    (await bus.admin.lag({ group: "changelog:processes" })).every(({ lag }) => lag === 0);
  await eventually(isCaughtUp, "the view has all processes");
}

const pathOf = (page: Page): string => page.url().slice(scene.shop.hub.url.length);

describe("the way back", () => {
  it("leaves the page after a panel was closed, however often and whichever way it was opened", async () => {
    const page = await at("/ui/topics");
    await page.getByRole("link", { name: "orders.placed" }).click();
    const panel = page.getByRole("complementary", { name: "Event" });
    await page.locator("[data-row='0']").click();
    await panel.waitFor();
    // Another row takes the place of the first. The panel lies over the middle of it.
    await page.locator("[data-row='1']").click({ position: { x: 20, y: 10 } });
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.locator("[data-row='2']").click();
    await panel.getByRole("button", { name: "Close" }).click();
    await panel.waitFor({ state: "detached" });
    expect(pathOf(page)).toBe("/ui/topics/orders.placed");
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Topics" }).waitFor();
    await page.goForward();
    await page.goForward();
    await panel.waitFor();
  });

  it("stays on the page if Esc is pressed again before the panel is gone", async () => {
    const page = await at("/ui/topics");
    await page.getByRole("link", { name: "orders.placed" }).click();
    await page.locator("[data-row='0']").click();
    await page.getByRole("complementary", { name: "Event" }).waitFor();
    await page.evaluate(`
      for (let i = 0; i < 3; i++) dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    `);
    await page.getByRole("complementary", { name: "Event" }).waitFor({ state: "detached" });
    expect(pathOf(page)).toBe("/ui/topics/orders.placed");
    await page.getByRole("heading", { level: 1, name: "orders.placed" }).waitFor();
  });

  it("keeps a choice that was made while the panel was open", async () => {
    const page = await at("/ui/topics/orders.placed");
    await page.locator("[data-row='0']").click();
    const panel = page.getByRole("complementary", { name: "Event" });
    await panel.waitFor();
    await page.getByLabel("Text in the event").fill("cust-97");
    await page.waitForURL(/text=cust-97/);
    await panel.getByRole("button", { name: "Close" }).click();
    await panel.waitFor({ state: "detached" });
    expect(pathOf(page)).toBe("/ui/topics/orders.placed?text=cust-97");
  });

  it("a panel that a link led to closes to its page", async () => {
    const page = await at("/ui/topics/orders.placed");
    await page.locator("[data-row='0']").click();
    await page.getByRole("complementary", { name: "Event" }).waitFor();
    const other = await at(pathOf(page));
    await other.getByRole("complementary", { name: "Event" }).waitFor();
    await other.keyboard.press("Escape");
    await other.getByRole("complementary", { name: "Event" }).waitFor({ state: "detached" });
    expect(pathOf(other)).toBe("/ui/topics/orders.placed");
  });
});

describe("a topic of 100,000 events", () => {
  it("begins where one says, and goes on from there; newest first if asked to", async () => {
    const page = await at("/ui/topics/sensor.readings?from=seq:40000");
    const first = page.locator("[data-row='0']");
    await expect.poll(() => first.textContent(), SOON).toContain("0:40000");
    await page.getByLabel("Order", { exact: true }).selectOption("Newest first");
    await expect.poll(() => first.textContent(), SOON).toContain(`0:${EVENTS}`);
    expect(page.url()).toContain("order=newest");
  });

  it("goes on with the next events where one is, not at the top, and draws only what is seen", async () => {
    const page = await at("/ui/topics/sensor.readings");
    await sees(page, "100 shown, 100 looked at");
    const last = page.locator("[data-row='99']");
    await last.scrollIntoViewIfNeeded();
    for (const shown of [200, 300, 400]) {
      await page.getByRole("button", { name: "Load more" }).click();
      await sees(page, `${shown} shown, ${shown} looked at`);
    }
    const { y } = (await last.boundingBox()) ?? { y: -1 };
    expect([y > 0, y < 900]).toEqual([true, true]);
    expect(await page.locator("[data-row]").count()).toBeLessThan(100);
  });

  it("shows the way to all events of a key, of which only a part was looked for", async () => {
    const page = await at("/ui/topics/sensor.readings?key=sensor-42");
    await sees(page, /shown, 10,000 looked at/);
    await page.getByRole("link", { name: "All of this key" }).click();
    await sees(page, "50 newest events");
  });
});

describe("more than one page of documents", () => {
  it("views: are loaded when asked for", async () => {
    const page = await at("/ui/views/processes");
    await sees(page, "200 shown, there are more");
    await page.getByRole("button", { name: "Load more" }).click();
    await sees(page, "400 shown, there are more");
    await page.locator("[data-table=documents]").evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await sees(page, "worker-399");
  });

  it("views: a search that is none is said to be so, and nothing is waited for", async () => {
    const page = await at("/ui/views/processes?where=nonsense");
    await page
      .getByRole("alert")
      .getByText(/"nonsense" names no field/)
      .waitFor();
    expect(await page.getByRole("status", { name: "Loading" }).count()).toBe(0);
  });

  it("processes: are loaded when asked for, and count then", async () => {
    const page = await at("/ui/processes");
    await sees(page, /There are more than these 1,000/);
    await page.getByRole("button", { name: "Load more" }).click();
    await sees(page, "1,100 of 1,100");
    expect(await page.getByText(/There are more than these/).count()).toBe(0);
  });
});

describe("many groups", () => {
  it("one that a key holds up is called so, however little it is behind", async () => {
    const page = await at("/ui/groups/mailer");
    await page.locator("header").getByText("held up", { exact: true }).waitFor();
  });

  it("many that are paused are one line of the overview, which leads to them", async () => {
    const names = ["a", "b", "c"].map((name) => `sleeper-${name}`);
    for (const group of names) {
      await scene.shop.bus.subscribe(Readings, group, async () => undefined, { from: "latest" });
      await scene.shop.bus.admin.pause({ topic: Readings.name, group }, "ada");
    }
    const page = await at("/");
    await page.getByRole("link", { name: /3 groups are paused: sleeper-a, sleeper-b and 1 more/ }).click();
    await expect.poll(() => page.locator("[data-row]").count(), SOON).toBe(3);
    await page.getByLabel("State").selectOption("Any state");
    await expect.poll(() => page.locator("[data-row]").count(), SOON).toBeGreaterThan(3);
  });
});

const THUMB_PX = 40;
const PHONE_PX = 390;

/** What is pressed, and is smaller than a thumb. Links in running text are as high as their line. */
const TOO_SMALL = `
  [...document.querySelectorAll("button, input:not([type=checkbox]), select, nav a, [data-row]")]
    .map((element) => [element, element.getBoundingClientRect()])
    .filter(([, { width, height }]) => width > 1 && height > 1)
    .filter(([, { width, height }]) => height < ${THUMB_PX} || width < 24)
    .map(([{ outerHTML }, { width, height }]) => width + " x " + height + " " + outerHTML.slice(0, 120))
`;

describe("on a phone", () => {
  it("everything that is pressed is large enough for a thumb, and rows fit the screen", async () => {
    const page = await at("/", PHONE_PX);
    for (const path of [
      "/ui/topics",
      "/ui/topics/orders.placed",
      "/ui/groups",
      "/ui/groups/mailer",
      "/ui/dead-letters",
      "/ui/dead-letters/orders.placed?status=any",
      "/ui/views",
      "/ui/views/orders/order-7",
      "/ui/schemas",
      "/ui/trace",
      "/ui/operations?tab=access",
      "/ui/processes",
    ]) {
      await page.goto(scene.shop.hub.url + path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expect.poll(() => page.getByRole("status", { name: "Loading" }).count(), SOON).toBe(0);
      expect([path, await page.evaluate<string[]>(TOO_SMALL)]).toEqual([path, []]);
      const over = await page
        .locator("[data-table]")
        .evaluateAll((tables) => tables.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
      expect([path, over.filter((px) => px > 0)]).toEqual([path, []]);
    }
  });

  it("folds filters away, except those in use", async () => {
    const page = await at("/ui/topics/orders.placed", PHONE_PX);
    await page.locator("[data-row='0']").waitFor();
    expect(await page.getByLabel("Header").isVisible()).toBe(false);
    await page.getByRole("button", { name: "More filters" }).click();
    expect(await page.getByLabel("Header").isVisible()).toBe(true);
    await page.goto(`${scene.shop.hub.url}/ui/topics/orders.placed?partition=1`);
    await page.getByLabel("Partition").waitFor();
  });

  it("a trace shows the event that was asked for, however late it came", async () => {
    const page = await at(`/ui/trace/${scene.shop.mail}`, PHONE_PX);
    const node = page.locator("#content button[aria-pressed=true]");
    await node.waitFor();
    const { x, width } = (await node.boundingBox()) ?? { x: 0, width: 0 };
    expect([x >= 0, x + width <= PHONE_PX]).toEqual([true, true]);
  });
});
