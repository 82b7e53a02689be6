/** The pages of dead letters in a real browser against a real hub: the main tasks. */
import { describe, expect, it } from "vitest";
import { SOON, sees } from "../support/console/browser.js";
import { useFreshShop } from "../support/console/fresh-shop.js";
import { Orders } from "../support/console/shop.js";

const scene = useFreshShop();
const { at } = scene;

async function lettersOpen(): Promise<number> {
  const response = await fetch(`${scene.shop.hub.url}/dlq`, {
    headers: { authorization: "Bearer admin-token" },
  });
  const { items } = (await response.json()) as { items: { open: number }[] };
  return items[0]?.open ?? 0;
}

describe("the pages", () => {
  it("dead letters: redrives a choice with a dry run and progress, edits one, discards one with a reason", async () => {
    const page = await at("/ui/dead-letters");
    await page.getByRole("link", { name: "orders.placed" }).click();
    await expect.poll(() => page.locator("[data-row]").count(), SOON).toBe(4);
    await page.getByRole("row").filter({ hasText: "order 101" }).click();
    const panel = page.getByRole("complementary", { name: "Dead letter" });
    await panel.getByText("order 101 is too dear").first().waitFor();
    await panel.getByRole("button", { name: "Edit and retry" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Payload (JSON)").fill('{"order":42,"customer":"cust-101"}');
    await dialog.locator(".bg-good-wash", { hasText: "42" }).first().waitFor();
    await dialog.getByRole("button", { name: "Publish to orders.placed for billing" }).click();
    await expect.poll(lettersOpen, SOON).toBe(3);
    // The first may still go to the dialog.
    const closed = async (): Promise<boolean> => {
      await page.keyboard.press("Escape");
      return await panel.isHidden();
    };
    await expect.poll(closed, SOON).toBe(true);
    await page.getByRole("row").filter({ hasText: "order 102" }).click();
    await panel.getByRole("button", { name: "Discard" }).click();
    await dialog.getByLabel("Reason").fill("a test order");
    await dialog.getByRole("button", { name: "Discard 1 event" }).click();
    await expect.poll(lettersOpen, SOON).toBe(2);
    scene.shop.rules.strict = false;
    await page.goto(`${scene.shop.hub.url}/ui/dead-letters/orders.placed`);
    await page.getByRole("button", { name: "Redrive 2 events…" }).click();
    await sees(page, "A dry run says");
    await dialog.getByRole("button", { name: "Redrive 2 events to orders.placed" }).click();
    await dialog.locator('[data-job="done"]').waitFor();
    await expect.poll(lettersOpen, SOON).toBe(0);
    await page.goto(`${scene.shop.hub.url}/ui/operations?tab=audit`);
    await sees(page, "dead-letters.redrive");
    await sees(page, "dead-letters.discard");
  });

  it("dead letters: shows the newest first, and by partition if asked to", async () => {
    const page = await at("/ui/dead-letters/orders.placed");
    const rows = page.locator("[data-row]");
    await expect.poll(() => rows.count(), SOON).toBe(4);
    await scene.shop.bus.publish(Orders, { order: 999, customer: "cust-999" }, { key: "cust-999" });
    await expect.poll(() => rows.first().textContent(), SOON).toContain("order 999");
    await page.getByLabel("Order", { exact: true }).selectOption("By partition");
    await expect.poll(() => rows.first().textContent(), SOON).not.toContain("order 999");
    expect(page.url()).toContain("order=oldest");
    await page.getByLabel("Status").selectOption("Discarded");
    const command = page.getByRole("button", { name: "Copy as CLI command" });
    await expect
      .poll(() => command.getAttribute("title"), SOON)
      .toBe("promethean dlq ls orders.placed --status discarded");
  });

  it("dead letters: one that is discarded leaves the list, also after more were loaded", async () => {
    const orders = Array.from({ length: 500 }, (_, i) => ({
      payload: { order: 1_000 + i, customer: "many" },
      key: `many-${i}`,
    }));
    await scene.shop.bus.publishMany(Orders, orders);
    await expect.poll(lettersOpen, SOON).toBe(504);
    const page = await at("/ui/dead-letters/orders.placed?order=oldest");
    await page.getByRole("button", { name: "Load more" }).click();
    await sees(page, /^504 shown/);
    await page.locator("[data-row='0']").click();
    const panel = page.getByRole("complementary", { name: "Dead letter" });
    await panel.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("a test order");
    await page.getByRole("dialog").getByRole("button", { name: "Discard 1 event" }).click();
    await sees(page, /^503 shown/);
  });
});
