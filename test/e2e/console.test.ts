/** The console in a real browser against a real hub: the main task of each page that has no file of its own. */
import { describe, expect, it } from "vitest";
import { defineTopic } from "../../src/model/topic.js";
import { startChangelogProjector } from "../../src/project/views/changelog.js";
import { SOON, sees } from "../support/console/browser.js";
import { useFreshShop } from "../support/console/fresh-shop.js";
import { gate } from "../support/eventually.js";

const scene = useFreshShop();
const { at } = scene;

const DRAWN = 30;
/** As a hand draws it: a little with every frame. Tells where it came to rest. */
const DRAW = `async (slider) => {
  const from = Number(slider.min);
  for (let step = 1; step <= ${DRAWN}; step++) {
    slider.value = String(from + step * 60_000);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(requestAnimationFrame);
  }
  return slider.value;
}`;

describe("the pages", () => {
  it("overview: says in words what is wrong, and leads there", async () => {
    const page = await at("/");
    await sees(page, /dead letters? wait for a decision in orders.placed/);
    await page.locator("figure").first().waitFor();
    await page.getByRole("link", { name: /dead letters? wait for a decision/ }).click();
    await page.getByRole("heading", { name: "orders.placed", level: 1 }).waitFor();
  });

  it("groups: says why one is stuck, moves its cursor after a preview, pauses, resumes, verifies", async () => {
    const page = await at("/ui/groups");
    await page.getByRole("link", { name: "mailer" }).click();
    const why = page.locator("[data-why]");
    await expect
      .poll(() => why.textContent(), SOON)
      .toMatch(/key slow failed 1 of 50 times with SMTP timeout/);
    await page.getByRole("button", { name: "Verify" }).click();
    await sees(page, "Every event is accounted for.");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Pause", exact: true }).last().click();
    await page.getByRole("button", { name: "Pause mailer on orders.placed" }).click();
    await page.getByRole("button", { name: "Resume", exact: true }).waitFor();
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("button", { name: "Move cursor" }).click();
    await page.getByLabel("Where to").selectOption("latest");
    await sees(page, "2 unsettled events would never come");
    await page.getByRole("button", { name: "Skip 2 events" }).click();
    await expect.poll(() => why.textContent(), SOON).toMatch(/mailer is up to date/);
  });

  it("groups: one on several topics stays with the topic it was opened on", async () => {
    const stuck = { from: "earliest", retry: { baseMs: 600_000, maxMs: 600_000, jitter: 0 } } as const;
    const fails = async (): Promise<void> => {
      throw new Error("not now");
    };
    const secondsAgo = (seconds: number): { ts: number } => ({
      ts: scene.shop.bus.clock.now() - seconds * 1_000,
    });
    for (const topic of ["first.topic", "second.topic"])
      await scene.shop.bus.subscribe(topic, "both", fails, stuck);
    await scene.shop.bus.publish("first.topic", {}, secondsAgo(100));
    const page = await at("/ui/groups/both");
    await page.getByRole("button", { name: "Move cursor" }).click();
    await page.getByRole("heading", { name: "Move both on first.topic" }).waitFor();
    await scene.shop.bus.publish("second.topic", {}, secondsAgo(500));
    const twice = async (): Promise<void> => {
      for (let n = 0; n < 2; n++)
        await page.waitForResponse(async (response) => {
          if (!response.url().endsWith("/groups/both")) return false;
          const { topics } = (await response.json()) as { topics: { lag: number }[] };
          return topics.every(({ lag }) => lag > 0);
        });
    };
    await twice();
    await page.getByRole("heading", { name: "Move both on first.topic" }).waitFor();
  });

  it("views: searches, shows a document as it was and what changed, rebuilds and compares", async () => {
    const page = await at("/ui/views/orders");
    await page.getByLabel("Search by field").fill("status=shipped");
    await expect.poll(() => page.locator("[data-row]").count(), SOON).toBe(1);
    await page.getByRole("link", { name: "order-7" }).click();
    await sees(page, '"shipped"');
    await page.getByRole("button", { name: "Change before" }).click();
    await page.locator(".bg-good-wash", { hasText: '"paid"' }).first().waitFor();
    await page.locator(".bg-bad-wash", { hasText: '"placed"' }).first().waitFor();
    expect(page.url()).toMatch(/at=\d+/);
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(request.url()));
    const last = await page.evaluate<string>(`(${DRAW})(document.querySelector("input[type=range]"))`);
    await expect.poll(() => page.url(), SOON).toContain(`at=${last}`);
    await expect.poll(() => asked.filter((url) => url.includes(`at=${last}`)).length, SOON).toBe(1);
    expect(asked.filter((url) => /key=order-7&at=/.test(url)).length).toBeLessThan(DRAWN);
    await page.getByRole("button", { name: "Now" }).click();
    await sees(page, '"shipped"');
    await page.goto(`${scene.shop.hub.url}/ui/views/orders`);
    await page.getByRole("button", { name: "Rebuild…" }).click();
    await page.getByText(/Makes the view anew from \d+ events of/).waitFor();
    await page.getByRole("button", { name: "Rebuild orders and compare" }).click();
    await sees(page, "All 2 documents came out the same.");
    await page.getByRole("button", { name: "Done" }).click();
    // What one has started is followed to its end, also while live updates are off.
    await page.getByRole("button", { name: "Live", exact: true }).click();
    await page.getByRole("button", { name: "Rebuild…" }).click();
    await page.getByLabel(/Switch readers over/).check();
    await page.getByRole("button", { name: "Rebuild orders and switch over" }).click();
    await page.getByRole("button", { name: "Go back to the old view" }).click();
    await sees(page, "orders is as it was");
  });

  it("keys: whatever they are, their documents and their history are a click away", async () => {
    const { bus } = scene.shop;
    const odd = ["..", ".", "a/b", "-7"];
    for (const key of odd) await bus.publish("order.state", { status: `odd ${key}!` }, { key });
    await expect.poll(async () => (await bus.view("orders").find()).items.length, SOON).toBe(2 + odd.length);
    for (const key of odd) {
      const page = await at("/ui/views/orders");
      await page.getByRole("link", { name: key, exact: true }).click();
      await sees(page, `"odd ${key}!"`);
      await page.getByRole("link", { name: "Events" }).click();
      await sees(page, /seq \d+/);
      await sees(page, `"odd ${key}!"`);
      await page.goBack();
      await page.reload();
      await sees(page, `"odd ${key}!"`);
      await page.close();
    }
  });

  it("keys: are found in the view and the topic that have them, whatever stands before these", async () => {
    const { bus } = scene.shop;
    for (const view of ["a", "b", "c"]) await startChangelogProjector(bus, { topic: "mails.sent", view });
    for (const name of ["aa", "bb", "cc"]) await bus.defineTopic(defineTopic(name, { keyed: true }));
    const page = await at("/");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("order-7");
    await page.getByRole("option", { name: "order-7 Key in orders", selected: true }).waitFor();
    const found = await page.getByRole("option", { name: /(Key|History) in/ }).allInnerTexts();
    expect(found.map((text) => text.replace("\n", " "))).toEqual([
      "order-7 Key in orders",
      "order-7 History in order.state",
    ]);
    await page.keyboard.press("Enter");
    await sees(page, "shipped");
  });

  it("schemas: tells two versions apart and gives the verdict", async () => {
    const page = await at("/ui/trace");
    const { passed, open: goOn } = gate();
    await page.route("**/topics", (route) => passed.then(() => route.continue()));
    const schemas = page.waitForResponse("**/schemas");
    await page.getByRole("link", { name: /^Schemas/ }).click();
    await schemas;
    // Of the topics nothing is known yet: no share of them can be told.
    await page.getByRole("status", { name: "Loading" }).waitFor();
    goOn();
    await sees(page, /^1 of \d topics$/);
    await page.getByRole("link", { name: "orders.placed" }).click();
    await page.locator('[data-verdict="compatible"]').waitFor();
    await sees(page, "coupon");
    await page.getByLabel("Older version").selectOption("2");
    await expect.poll(() => page.url(), SOON).toContain("from=2");
  });

  it("trace: shows what caused a mail, and the chosen event beside it", async () => {
    const page = await at(`/ui/trace/${scene.shop.mail}`);
    await sees(page, "2 events in 2 topics");
    await page.getByRole("button", { name: /cust-99/ }).click();
    await page.getByRole("heading", { name: "orders.placed", level: 2 }).waitFor();
  });

  it("operations: lists what runs, the hubs, and what one may do; what it cannot show takes nothing else with it", async () => {
    const page = await at("/ui/trace");
    const odd = { name: "odd", kind: "odd", state: "of a newer hub", startedMs: 0, restarts: 0, stats: {} };
    await page.route("**/tasks", (route) => route.fulfill({ json: { items: [odd] } }), { times: 1 });
    await page.getByRole("link", { name: /^Operations/ }).click();
    await sees(page, "This page cannot show what the hub says");
    await page.getByRole("button", { name: "Try again" }).click();
    await sees(page, "changelog order.state → orders");
    await page.getByRole("tab", { name: "Hubs and members" }).click();
    await sees(page, "this one");
    await page.getByRole("tab", { name: "Access" }).click();
    await page.getByRole("cell", { name: "allow" }).waitFor();
    await page.getByLabel("Verb").selectOption("group");
    await page.getByLabel("Group", { exact: true }).fill("mailer");
    await sees(page, "Yes.");
    await page.getByRole("tab", { name: "Outbox" }).click();
    await sees(page, "No dead entries");
  });

  it("processes: without the worked example it says how to start it", async () => {
    const page = await at("/ui/processes");
    await sees(page, "npx promethean up");
  });
});
