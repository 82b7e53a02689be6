/** The console in a real browser against a real hub: the main task of each page. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launch, SOON, sees } from "../support/console/browser.js";
import { Orders, openShop, READER, type Shop, WRITER } from "../support/console/shop.js";
import { Visits } from "../support/console/visits.js";
import { gate } from "../support/eventually.js";

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

function at(path: string, token?: string): Promise<Page> {
  return visits.begin(browser, shop.hub.url, { path, ...(token !== undefined && { token }) });
}

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

async function lettersOpen(): Promise<number> {
  const response = await fetch(`${shop.hub.url}/dlq`, { headers: { authorization: "Bearer admin-token" } });
  const { items } = (await response.json()) as { items: { open: number }[] };
  return items[0]?.open ?? 0;
}

describe("signing in", () => {
  it("takes a token, refuses a wrong one, forgets it on sign-out, and asks for it again", async () => {
    const page = await visits.begin(browser, shop.hub.url, { token: null, path: "/ui/topics?q=orders" });
    await page.getByLabel("Access token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await sees(page, "The hub does not know this token");
    await page.getByLabel("Access token").fill("admin-token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "orders.placed" }).waitFor();
    expect(page.url()).toBe(`${shop.hub.url}/ui/topics?q=orders`);
    await page.reload();
    await page.getByRole("link", { name: "orders.placed" }).waitFor();
    await page.locator("[data-health=warn]").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Access token").waitFor();
    await page.reload();
    await page.getByLabel("Access token").waitFor();
  });

  it("shows nothing of one token to the next, and says that one has run out, or that the hub is away", async () => {
    const page = await at("/ui/topics");
    await page.locator("[data-health=warn]").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.route("**/whoami", (route) => route.abort());
    await page.getByLabel("Access token").fill(READER);
    await page.getByRole("button", { name: "Sign in" }).click();
    await sees(page, "The hub cannot be reached. Trying again…");
    await page.unroute("**/whoami");
    await page.getByRole("link", { name: "orders.placed" }).waitFor();
    // It may not read the figures: those of the one before are gone.
    expect(await page.locator("[data-health]").textContent()).toBe("Connected");
    await page.route("**/topics", (route) => route.fulfill({ status: 401, json: { code: "UNAUTHORIZED" } }));
    await sees(page, "Your token has run out");
    expect(page.url()).toBe(`${shop.hub.url}/ui/topics`);
  });

  it("takes the token out of a link, and leaves it nowhere in the address", async () => {
    const page = await at("/ui/groups");
    await page.getByRole("heading", { name: "Groups", level: 1 }).waitFor();
    expect(page.url()).toBe(`${shop.hub.url}/ui/groups`);
  });

  it("offers nothing that a token may not do, and says which right is missing", async () => {
    const page = await at("/", READER);
    await sees(page, "ops:stats");
    await page.getByRole("link", { name: /^Topics/ }).click();
    await page.getByRole("link", { name: "orders.placed" }).click();
    await sees(page, "cust-99");
    expect(await page.getByRole("button", { name: /Publish event|Remove/ }).count()).toBe(0);
    await page.goto(`${shop.hub.url}/ui/dead-letters/orders.placed`);
    await sees(page, "order 101 is too dear");
    expect(await page.getByRole("button", { name: /Redrive|Discard/ }).count()).toBe(0);
    await page.goto(`${shop.hub.url}/ui/topics`);
    await sees(page, "orders.placed");
    expect(await page.getByText("order.state").count()).toBe(0);
    await page.goto(`${shop.hub.url}/ui/operations?tab=audit`);
    await sees(page, "ops:audit");
  });

  it("never says that nothing is there to whom it may not be shown", async () => {
    const lists = ["topics", "groups", "views", "schemas", "dead-letters", "trace?correlation=c"];
    const page = await at("/ui/topics", WRITER);
    for (const list of lists) {
      await page.goto(`${shop.hub.url}/ui/${list}`);
      await sees(page, "Your token may read no topic");
    }
    const some = await at("/ui/views", READER);
    await sees(some, "No views that your token may read");
    await some.getByRole("link", { name: "What it covers" }).click();
    await some.getByRole("cell", { name: "orders.*" }).waitFor();
  });
});

describe("the pages", () => {
  it("overview: says in words what is wrong, and leads there", async () => {
    const page = await at("/");
    await sees(page, /dead letters? wait for a decision in orders.placed/);
    await page.locator("figure").first().waitFor();
    await page.getByRole("link", { name: /dead letters? wait for a decision/ }).click();
    await page.getByRole("heading", { name: "orders.placed", level: 1 }).waitFor();
  });

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
    await publish.click();
    const row = page.getByRole("row").filter({ hasText: "tail-key" });
    await row.waitFor();
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await shop.bus.publish(Orders, { order: 6, customer: "later" }, { key: "later" });
    await sees(page, "Paused, 1 more");
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("row").filter({ hasText: "later" }).waitFor();
    await page.goto(`${shop.hub.url}/ui/topics/orders.placed?tab=tail&partition=99`);
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
    const found = await shop.bus.store.log.history("order.state", "lost-answer", { limit: 10 });
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
      await shop.bus.publish("many.events", { i }, { key: i === 60 ? "one" : "rest" });
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
    await shop.bus.publish("many.events", { i: 120 }, { key: "newest" });
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
    for (let i = 0; i < 3; i++) await shop.bus.publish("old.events", { i });
    await page.goto(`${shop.hub.url}/ui/topics/old.events`);
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await sees(page, "3 events");
    await dialog.getByRole("button", { name: "Remove old.events" }).click();
    await sees(page, "Removed old.events");
    await page.getByRole("link", { name: "orders.placed" }).waitFor();
    expect(page.url()).toBe(`${shop.hub.url}/ui/topics`);
    await expect.poll(() => page.getByRole("link", { name: "old.events" }).count(), SOON).toBe(0);
    expect((await shop.bus.topics()).map(({ name }) => name)).not.toContain("old.events");
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
    const secondsAgo = (seconds: number): { ts: number } => ({ ts: shop.bus.clock.now() - seconds * 1_000 });
    for (const topic of ["first.topic", "second.topic"])
      await shop.bus.subscribe(topic, "both", fails, stuck);
    await shop.bus.publish("first.topic", {}, secondsAgo(100));
    const page = await at("/ui/groups/both");
    await page.getByRole("button", { name: "Move cursor" }).click();
    await page.getByRole("heading", { name: "Move both on first.topic" }).waitFor();
    await shop.bus.publish("second.topic", {}, secondsAgo(500));
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
    shop.rules.strict = false;
    await page.goto(`${shop.hub.url}/ui/dead-letters/orders.placed`);
    await page.getByRole("button", { name: "Redrive 2 events…" }).click();
    await sees(page, "A dry run says");
    await dialog.getByRole("button", { name: "Redrive 2 events to orders.placed" }).click();
    await dialog.locator('[data-job="done"]').waitFor();
    await expect.poll(lettersOpen, SOON).toBe(0);
    await page.goto(`${shop.hub.url}/ui/operations?tab=audit`);
    await sees(page, "dead-letters.redrive");
    await sees(page, "dead-letters.discard");
  });

  it("dead letters: shows the newest first, and by partition if asked to", async () => {
    const page = await at("/ui/dead-letters/orders.placed");
    const rows = page.locator("[data-row]");
    await expect.poll(() => rows.count(), SOON).toBe(4);
    await shop.bus.publish(Orders, { order: 999, customer: "cust-999" }, { key: "cust-999" });
    await expect.poll(() => rows.first().textContent(), SOON).toContain("order 999");
    await page.getByLabel("Order", { exact: true }).selectOption("By partition");
    await expect.poll(() => rows.first().textContent(), SOON).not.toContain("order 999");
    expect(page.url()).toContain("order=oldest");
  });

  it("dead letters: one that is discarded leaves the list, also after more were loaded", async () => {
    const orders = Array.from({ length: 500 }, (_, i) => ({
      payload: { order: 1_000 + i, customer: "many" },
      key: `many-${i}`,
    }));
    await shop.bus.publishMany(Orders, orders);
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
    expect(asked.filter((url) => /order-7\?at=/.test(url)).length).toBeLessThan(DRAWN);
    await page.getByRole("button", { name: "Now" }).click();
    await sees(page, '"shipped"');
    await page.goto(`${shop.hub.url}/ui/views/orders`);
    await page.getByRole("button", { name: "Rebuild…" }).click();
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
    const page = await at(`/ui/trace/${shop.mail}`);
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
