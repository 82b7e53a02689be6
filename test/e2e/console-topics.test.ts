/** The pages of topics in a real browser against a real hub: the main tasks. */
import { describe, expect, it } from "vitest";
import { SOON, sees } from "../support/console/browser.js";
import { useFreshShop } from "../support/console/fresh-shop.js";
import { Orders } from "../support/console/shop.js";
import { gate } from "../support/eventually.js";

const scene = useFreshShop();
const { at } = scene;

describe("the pages", () => {
  it("topics: finds events by text, opens one, keeps all of it in the address", async () => {
    const page = await at("/ui/topics");
    const top = (): Promise<number> => page.locator("#content").evaluate(({ scrollTop }) => scrollTop);
    await page.setViewportSize({ width: 1280, height: 200 });
    await page.getByRole("link", { name: "orders.placed" }).scrollIntoViewIfNeeded();
    const left = await top();
    expect(left).toBeGreaterThan(0);
    await page.getByRole("link", { name: "orders.placed" }).click();
    await page.getByRole("heading", { level: 1, name: "orders.placed" }).waitFor();
    await expect.poll(top, SOON).toBe(0);
    await page.goBack();
    await expect.poll(top, SOON).toBe(left);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole("link", { name: "orders.placed" }).click();
    await page.getByLabel("Text in the event").fill('"order":103');
    const row = page.getByRole("row").filter({ hasText: "cust-103" });
    await row.waitFor();
    await expect.poll(() => page.locator("[data-row]").count(), SOON).toBe(1);
    await row.click();
    const panel = page.getByRole("complementary", { name: "Event" });
    await panel.getByText("cust-103").first().waitFor();
    const address = page.url();
    expect(address).toContain("text=");
    expect(address).toContain("event=");
    await page.goto(address);
    await panel.getByText('"cust-103"').first().waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => panel.count(), SOON).toBe(0);
  });

  it("topics: checks a payload against the schema as one types, publishes it, and shows it in the live tail", async () => {
    const page = await at("/ui/topics/orders.placed?tab=tail");
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    await page.getByRole("button", { name: "Publish event" }).click();
    const dialog = page.getByRole("dialog");
    const publish = dialog.getByRole("button", { name: "Publish event" });
    await dialog.getByLabel("Payload (JSON)").fill('{"order":"x"}');
    await sees(page, "customer");
    expect(await publish.isDisabled()).toBe(true);
    await dialog.getByLabel("Payload (JSON)").fill('{"order":5,"customer":"tail-me"}');
    await dialog.getByLabel("Key", { exact: true }).fill("tail-key");
    await dialog.getByLabel("Headers").fill("x-source: by hand");
    expect(await dialog.getByRole("button", { name: "Copy as CLI command" }).getAttribute("title")).toBe(
      `promethean publish --key tail-key --header 'x-source=by hand' orders.placed '{"order":5,"customer":"tail-me"}'`,
    );
    await publish.click();
    const row = page.getByRole("row").filter({ hasText: "tail-key" });
    await row.waitFor();
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await scene.shop.bus.publish(Orders, { order: 6, customer: "later" }, { key: "later" });
    await sees(page, "Paused, 1 more");
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("row").filter({ hasText: "later" }).waitFor();
    await page.goto(`${scene.shop.hub.url}/ui/topics/orders.placed?tab=tail&partition=99`);
    await sees(page, "has partitions 0 to 2, not 99");
  });

  it("topics: what is typed survives a selection that ends beside the dialog, and a lost answer makes no second event", async () => {
    const page = await at("/ui/topics/order.state");
    await page.getByRole("button", { name: "Publish event" }).click();
    const dialog = page.getByRole("dialog");
    const field = dialog.getByLabel("Payload (JSON)");
    await field.fill('{"status":"placed","total":1}');
    const { x, y } = (await field.boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.move(x + 40, y + 20);
    await page.mouse.down();
    await page.mouse.move(5, y + 20);
    await page.mouse.up();
    await dialog.getByLabel("Key", { exact: true }).fill("lost-answer");
    await page.route(
      "**/publish",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await dialog.getByRole("button", { name: "Publish event" }).click();
    await dialog.getByRole("alert").getByText("The hub cannot be reached.").waitFor();
    await dialog.getByRole("button", { name: "Publish event" }).click();
    await expect.poll(() => dialog.count(), SOON).toBe(0);
    const found = await scene.shop.bus.store.log.history("order.state", "lost-answer", { limit: 10 });
    expect(found).toHaveLength(1);
  });

  it("topics: says what failed also to whoever has closed the dialog meanwhile", async () => {
    const page = await at("/ui/topics/order.state");
    const { passed, open: goOn } = gate();
    await page.route("**/publish", (route) => passed.then(() => route.abort()));
    await page.getByRole("button", { name: "Publish event" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Publish event" }).click();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count(), SOON).toBe(0);
    goOn();
    await sees(page, "Publish event: that failed");
  });

  it("topics: looks again while live updates are off, and shows no page of a choice that was left", async () => {
    for (let i = 0; i < 120; i++)
      await scene.shop.bus.publish("many.events", { i }, { key: i === 60 ? "one" : "rest" });
    const page = await at("/ui/topics/many.events");
    const shown = page.getByText(/\d+ shown,/);
    await sees(page, /^100 shown/);
    const { passed, open: goOn } = gate();
    await page.route("**/events?*after=*", (route) => passed.then(() => route.continue()), { times: 1 });
    const held = page.waitForRequest("**/events?*after=*");
    await page.getByRole("button", { name: "Load more" }).click();
    await held;
    await page.getByLabel("Key", { exact: true }).fill("one");
    await sees(page, /^1 shown/);
    goOn();
    await page.getByLabel("Key", { exact: true }).fill("");
    await sees(page, /^120 shown, 120 looked at/);
    await page.getByRole("button", { name: "Live", exact: true }).click();
    await scene.shop.bus.publish("many.events", { i: 120 }, { key: "newest" });
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByRole("row").filter({ hasText: "newest" }).waitFor();
    await expect.poll(() => shown.textContent(), SOON).toMatch(/^121 shown/);
  });

  it("topics: shows the history of a key with what changed", async () => {
    const page = await at("/ui/topics/order.state?tab=key&key=order-7");
    await expect.poll(() => page.locator("ol > li").count(), SOON).toBe(3);
    await page.locator(".bg-good-wash", { hasText: '"shipped"' }).first().waitFor();
    await page.locator(".bg-bad-wash", { hasText: '"paid"' }).first().waitFor();
  });

  it("topics: removes one after telling what goes with it, unless somebody needs it", async () => {
    const page = await at("/ui/topics/orders.placed");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await sees(page, /is in use on orders\.placed|first\.$/);
    expect(await dialog.textContent()).toContain("away for good");
    expect(await dialog.getByRole("button", { name: "Remove orders.placed" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    for (let i = 0; i < 3; i++) await scene.shop.bus.publish("old.events", { i });
    await page.goto(`${scene.shop.hub.url}/ui/topics/old.events`);
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await sees(page, "3 events");
    await dialog.getByRole("button", { name: "Remove old.events" }).click();
    await sees(page, "Removed old.events");
    await page.getByRole("link", { name: "orders.placed" }).waitFor();
    expect(page.url()).toBe(`${scene.shop.hub.url}/ui/topics`);
    await expect.poll(() => page.getByRole("link", { name: "old.events" }).count(), SOON).toBe(0);
    expect((await scene.shop.bus.topics()).map(({ name }) => name)).not.toContain("old.events");
  });
});
