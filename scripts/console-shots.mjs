/**
 * Screenshots of every page of the console at four widths, light and dark, against a hub with example data:
 * `npm run console:shots [-- page …] [--sizes=tablet,laptop]` writes them to .cache/shots. With `--docs` a few small ones go
 * to docs/images.
 */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { FLAGS, findChromium } from "./chromium.mjs";
import { startDemo } from "./console-demo.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, ".cache", "shots");
const SIZES = {
  wide: { width: 1440, height: 900 },
  laptop: { width: 1024, height: 768 },
  tablet: { width: 768, height: 1024 },
  narrow: { width: 390, height: 844 },
};
/** Charts have something to show after this. */
const WARM_UP_MS = Number(process.env.SHOTS_WARM_UP_MS ?? 25_000);
const DOCS = { overview: "overview", group: "stuck-group", document: "time-slider", trace: "trace" };

const PAGES = {
  overview: () => "/",
  topics: () => "/ui/topics",
  topic: () => "/ui/topics/orders.placed",
  "topic-event": ({ event }) => `/ui/topics/orders.placed?event=${event}`,
  "topic-tail": () => "/ui/topics/orders.placed?tab=tail",
  "topic-key": () => "/ui/topics/order.state?tab=key&key=order-1100",
  "topic-partitions": () => "/ui/topics/orders.placed?tab=partitions",
  "topic-groups": () => "/ui/topics/orders.placed?tab=groups",
  groups: () => "/ui/groups",
  group: () => "/ui/groups/orders-mailer?topic=orders.placed",
  "dead-letters": () => "/ui/dead-letters",
  "dead-letters-topic": () => "/ui/dead-letters/orders.placed",
  "dead-letter": ({ letter }) => `/ui/dead-letters/orders.placed?letter=${letter}`,
  views: () => "/ui/views",
  view: () => "/ui/views/orders",
  document: ({ at }) => `/ui/views/orders/order-1100?at=${at}`,
  schemas: () => "/ui/schemas",
  schema: () => "/ui/schemas/orders.placed",
  trace: ({ mail }) => `/ui/trace/${mail}`,
  "trace-start": () => "/ui/trace",
  operations: () => "/ui/operations",
  jobs: () => "/ui/operations?tab=jobs",
  outbox: () => "/ui/operations?tab=outbox",
  hubs: () => "/ui/operations?tab=hubs",
  audit: () => "/ui/operations?tab=audit",
  access: () => "/ui/operations?tab=access",
  processes: () => "/ui/processes",
};

const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const forDocs = process.argv.includes("--docs");
const sizes = process.argv.find((word) => word.startsWith("--sizes="))?.slice("--sizes=".length);
const names = wanted.length > 0 ? wanted : forDocs ? Object.keys(DOCS) : Object.keys(PAGES);

const demo = await startDemo();
const browser = await chromium.launch({ executablePath: findChromium(), args: FLAGS });
try {
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
  const known = await knownIds();
  await startJobs();
  mkdirSync(forDocs ? join(root, "docs", "images") : folder, { recursive: true });
  for (const theme of forDocs ? ["dark", "light"] : ["light", "dark"]) {
    const widths = forDocs ? ["wide"] : (sizes?.split(",") ?? Object.keys(SIZES));
    for (const size of widths) await shootAll(theme, size, known);
  }
  if (wanted.length === 0 && !forDocs) await shootSignIn();
} finally {
  await browser.close();
  await demo.close();
}

async function ask(path, body) {
  const headers = { authorization: `Bearer ${demo.token}`, "content-type": "application/json" };
  const request = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  return (await fetch(demo.url + path, request)).json();
}

/** So that the list of jobs has something to show. */
async function startJobs() {
  await ask("/views/orders/rebuild", {});
  await ask("/dlq/orders.placed/redrive", { limit: 1, background: true });
}

async function knownIds() {
  const events = await ask("/topics/orders.placed/events?limit=5");
  const letters = await ask("/dlq/orders.placed?limit=1");
  const mails = await ask("/topics/mails.sent/events?limit=1");
  const past = await ask("/topics/order.state/keys/order-1100");
  return {
    event: events.items[2].id,
    letter: letters.items[0].id,
    mail: mails.items[0].id,
    at: past.items[1].ts,
  };
}

async function shootAll(theme, size, known) {
  const context = await browser.newContext({ viewport: SIZES[size], colorScheme: theme });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error") console.error(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => console.error(`page: ${error.message}`));
  await page.goto(`${demo.url}/#token=${demo.token}`);
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  for (const name of names) {
    if (forDocs && (theme === "dark") !== (name === "overview" || name === "trace")) continue;
    await page.goto(demo.url + PAGES[name](known));
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForTimeout(
      name === "processes" || name === "group" || name.includes("tail") ? 5_000 : 1_600,
    );
    const path = forDocs
      ? join(root, "docs", "images", `console-${DOCS[name]}.jpg`)
      : join(folder, `${name}-${size}-${theme}.png`);
    await page.screenshot({ path, ...(forDocs && { type: "jpeg", quality: 62 }) });
    console.log(path);
  }
  await context.close();
}

async function shootSignIn() {
  const page = await browser.newPage({ viewport: SIZES.wide });
  await page.goto(demo.url);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.screenshot({ path: join(folder, "sign-in-wide-light.png") });
}
