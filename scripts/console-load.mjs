/**
 * The console under load: 200 topics, 50 groups on each, and a live tail at 2,000 events a second. Measures long tasks,
 * memory and what was shown: `npm run console:load [-- seconds]` (60 unless given). Exits 1 if a task of the page
 * used more than 200 ms of a processor while tailing, or its memory did not stay flat.
 */
import { loadavg } from "node:os";
import { chromium } from "playwright-core";
import { startHub } from "../dist/hub/index.js";
import { createBus, memoryStore } from "../dist/index.js";
import { FLAGS, findChromium } from "./chromium.mjs";

const SECONDS = Number(process.argv[2] ?? 60);
const TOPICS = 200;
const GROUPS = 50;
const RATE = 2_000;
const LONGEST_MS = 200;
/** What a tab may grow by after it has warmed up. */
const GROWTH = 1.5;
const TOKEN = "load";

const bus = await createBus({ store: memoryStore() });
const hub = await startHub({ bus, auth: { tokens: { [TOKEN]: { scopes: ["*:*"] } } } });
const browser = await chromium.launch({
  executablePath: findChromium(),
  args: [...FLAGS, "--enable-precise-memory-info", "--js-flags=--expose-gc"],
});
try {
  await fill();
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.addInitScript(() => {
    window.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries()) window.longTasks.push([startTime, duration]);
    }).observe({ type: "longtask", buffered: true });
  });
  await page.goto(`${hub.url}/#token=${TOKEN}`);
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  const lists = [];
  for (const path of ["/", "/ui/topics", "/ui/groups"]) lists.push(await measureList(page, path));
  const tail = await measureTail(page);
  console.log(JSON.stringify({ topics: TOPICS, groups: TOPICS * GROUPS, lists, tail }, null, 2));
  const flat = tail.heapAfterMiB < tail.heapBeforeMiB * GROWTH + 4;
  if (tail.longestCpuMs > LONGEST_MS || !flat || tail.shown === 0) process.exitCode = 1;
} finally {
  await browser.close();
  await hub.close();
  await bus.close();
}

/** Topics with an event each, and groups that have a place in them. */
async function fill() {
  for (let t = 0; t < TOPICS; t++) {
    const topic = `load.topic-${String(t).padStart(3, "0")}`;
    await bus.publish(topic, { n: t }, { key: `k${t}` });
    const groups = Array.from({ length: GROUPS }, (_, g) => ({ topic, group: `group-${g}` }));
    await Promise.all(groups.map((ref) => bus.store.groups.start(ref, [0])));
  }
}

async function measureList(page, path) {
  await page.evaluate(() => {
    window.longTasks = [];
  });
  const startedMs = performance.now();
  await page.goto(hub.url + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  if (path !== "/") await page.locator("[data-row]").first().waitFor({ timeout: 120_000 });
  const readyMs = Math.round(performance.now() - startedMs);
  await page.waitForTimeout(5_000);
  const tasks = await page.evaluate(() => window.longTasks.map(([, duration]) => duration));
  const rows = await page.locator("[data-row]").count();
  return { path, readyMs, longestMs: Math.round(Math.max(0, ...tasks)), rowsDrawn: rows };
}

async function measureTail(page) {
  const publishing = publishSteadily();
  await page.goto(`${hub.url}/ui/topics/load.topic-000?tab=tail`);
  await page.locator("[data-row]").first().waitFor();
  await page.waitForTimeout(5_000);
  // Garbage is collected before and after only: it would be a long task of its own.
  const heapBeforeMiB = await heap(page);
  const seenBefore = await seen(page);
  await browser.startTracing(page, { categories: ["toplevel"] });
  const startedMs = performance.now();
  await page.waitForTimeout(SECONDS * 1_000);
  const tasks = tasksOf(await browser.stopTracing());
  const seconds = (performance.now() - startedMs) / 1_000;
  const shown = (await seen(page)) - seenBefore;
  const published = await publishing.stop();
  return {
    seconds: Math.round(seconds),
    publishedPerSecond: Math.round(published),
    shown,
    shownPerSecond: Math.round(shown / seconds),
    ...tasks,
    heapBeforeMiB,
    heapAfterMiB: await heap(page),
    loadAverage: loadavg()[0],
  };
}

/** The tasks of the page's main thread: how long by the clock, and by what they used of a processor. */
function tasksOf(trace) {
  const { traceEvents } = JSON.parse(trace.toString());
  const threads = traceEvents.filter(
    ({ name, args }) => name === "thread_name" && args.name === "CrRendererMain",
  );
  const isMain = ({ pid, tid }) => threads.some((thread) => thread.pid === pid && thread.tid === tid);
  const run = traceEvents.filter((event) => event.name === "ThreadControllerImpl::RunTask" && isMain(event));
  const longest = (of) => Math.round(run.reduce((max, event) => Math.max(max, event[of] ?? 0), 0) / 1_000);
  return {
    tasks: run.length,
    longTasks: run.filter(({ dur }) => dur > 50_000).length,
    longestMs: longest("dur"),
    longestCpuMs: longest("tdur"),
  };
}

function seen(page) {
  return page.locator("[data-seen]").evaluate((element) => Number(element.dataset.seen));
}

async function heap(page) {
  return page.evaluate(() => {
    window.gc?.();
    return Math.round((performance.memory.usedJSHeapSize / 1_048_576) * 10) / 10;
  });
}

/** A tenth of a second's worth at a time. */
function publishSteadily() {
  let published = 0;
  let sending = Promise.resolve();
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedMs) / 1_000) * RATE) - published;
    const items = Array.from({ length: Math.min(due, RATE) }, (_, i) => ({
      payload: {
        n: published + i,
        text: "a payload of ordinary size, with a few words in it",
        at: Date.now(),
      },
      key: `key-${(published + i) % 500}`,
    }));
    published += items.length;
    sending = sending.then(() => bus.publishMany("load.topic-000", items)).then(() => undefined);
  }, 100);
  return {
    stop: async () => {
      clearInterval(timer);
      await sending;
      return published / ((performance.now() - startedMs) / 1_000);
    },
  };
}
