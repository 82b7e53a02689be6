/** Signing in to the console, and what a token lets one see. */
import { describe, expect, it } from "vitest";
import { sees } from "../support/console/browser.js";
import { useFreshShop } from "../support/console/fresh-shop.js";
import { READER, WRITER } from "../support/console/shop.js";

const scene = useFreshShop();
const { at } = scene;

describe("signing in", () => {
  it("takes a token, refuses a wrong one, forgets it on sign-out, and asks for it again", async () => {
    const page = await at("/ui/topics?q=orders", null);
    await page.getByLabel("Access token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await sees(page, "The hub does not know this token");
    await page.getByLabel("Access token").fill("admin-token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "orders.placed" }).waitFor();
    expect(page.url()).toBe(`${scene.shop.hub.url}/ui/topics?q=orders`);
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
    expect(page.url()).toBe(`${scene.shop.hub.url}/ui/topics`);
  });

  it("takes the token out of a link, and leaves it nowhere in the address", async () => {
    const page = await at("/ui/groups");
    await page.getByRole("heading", { name: "Groups", level: 1 }).waitFor();
    expect(page.url()).toBe(`${scene.shop.hub.url}/ui/groups`);
  });

  it("offers nothing that a token may not do, and says which right is missing", async () => {
    const page = await at("/", READER);
    await sees(page, "ops:stats");
    await page.getByRole("link", { name: /^Topics/ }).click();
    await page.getByRole("link", { name: "orders.placed" }).click();
    await sees(page, "cust-99");
    expect(await page.getByRole("button", { name: /Publish event|Remove/ }).count()).toBe(0);
    await page.goto(`${scene.shop.hub.url}/ui/dead-letters/orders.placed`);
    await sees(page, "order 101 is too dear");
    expect(await page.getByRole("button", { name: /Redrive|Discard/ }).count()).toBe(0);
    await page.goto(`${scene.shop.hub.url}/ui/topics`);
    await sees(page, "orders.placed");
    expect(await page.getByText("order.state").count()).toBe(0);
    await page.goto(`${scene.shop.hub.url}/ui/operations?tab=audit`);
    await sees(page, "ops:audit");
  });

  it("never says that nothing is there to whom it may not be shown", async () => {
    const lists = ["topics", "groups", "views", "schemas", "dead-letters", "trace?correlation=c"];
    const page = await at("/ui/topics", WRITER);
    for (const list of lists) {
      await page.goto(`${scene.shop.hub.url}/ui/${list}`);
      await sees(page, "Your token may read no topic");
    }
    const some = await at("/ui/views", READER);
    await sees(some, "No views that your token may read");
    await some.getByRole("link", { name: "What it covers" }).click();
    await some.getByRole("cell", { name: "orders.*" }).waitFor();
  });
});
