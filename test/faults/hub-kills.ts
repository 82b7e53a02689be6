/**
 * A hub is killed with kill -9, over and over, while clients publish through it and consume from it, and another takes its
 * place. What clients were promised is there once, in order by key, and they go on by themselves (P1, P3, P4, P5, P15).
 */
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { PromClient } from "../../src/client/index.js";
import type { SocketLike } from "../../src/client/socket.js";
import { seededRandom } from "../../src/model/manual-clock.js";
import { inPlace } from "../stores/project/kills/servers.js";
import { wholeLog } from "../support/kept-history.js";
import { Sightings } from "../support/sightings.js";
import { type StorePlace, storeAt } from "../support/store-place.js";
import { ToldProcess } from "../support/told-process.js";
import { pause } from "./bus-load.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";

const TOPIC = "orders";
const PARTITIONS = 4;
const KEYS = 12;
const WINDOW = 40;
const GOES_ON_MS = 60_000;
/** So that a dead hub's leases in MongoDB do not make up most of the run. */
const LEASE_MS = 1_500;

interface HubLine {
  readonly type: string;
  readonly url?: string;
}

export interface HubKillOptions extends PartOptions {
  /** hub-process, compiled. */
  readonly program: URL;
}

export async function runHubKills(options: HubKillOptions): Promise<PartReport> {
  const tally = new Tally();
  for (const store of ["embedded", "mongo"] as const)
    await inPlace(store, (place) => new HubRun(options, place).run(tally, store));
  await inPlace("embedded", (place) => new HubRun(options, place, true).run(tally, "embedded, exclusive"));
  return tally.report();
}

class HubRun {
  readonly #options: HubKillOptions;
  readonly #place: StorePlace;
  /** Whether hubs have the file for themselves, and appends go ahead. */
  readonly #exclusive: boolean;
  readonly #seen = new Sightings();
  readonly #published: string[] = [];
  #url = "";
  #stopping = false;

  constructor(options: HubKillOptions, place: StorePlace, exclusive = false) {
    this.#options = options;
    this.#place = place;
    this.#exclusive = exclusive;
  }

  async run(tally: Tally, store: string): Promise<void> {
    const random = seededRandom(this.#options.seed);
    let hub = await this.#startHub();
    const clients = [this.#dial(), this.#dial(), this.#dial()] as const;
    try {
      const [publisher, ...consumers] = clients;
      for (const client of clients) await client.connect();
      for (const client of consumers) await this.#consume(client);
      const publishing = this.#publish(publisher);
      for (let round = 0; goesOn(this.#options, round); round++) {
        await this.#progress(WINDOW);
        await pause(random() * 150);
        await hub.kill();
        tally.fault(`kill -9 of a hub, ${store}`);
        hub = await this.#startHub();
      }
      await this.#progress(WINDOW);
      this.#stopping = true;
      await publishing;
      await this.#drained(tally, store);
    } finally {
      for (const client of clients) await client.close();
      await hub.kill();
    }
    await this.#judge(tally, store);
  }

  async #startHub(): Promise<ToldProcess<HubLine>> {
    const { path, url, db } = this.#place;
    const where = path === undefined ? { mongo: { url, db } } : { path, exclusive: this.#exclusive };
    const args = [JSON.stringify({ ...where, partitions: PARTITIONS, leaseMs: LEASE_MS })];
    const hub = new ToldProcess<HubLine>(fileURLToPath(this.#options.program), args, (line) => {
      if (line.url !== undefined) this.#url = line.url;
    });
    await hub.seen("ready", GOES_ON_MS);
    return hub;
  }

  /** As by a load balancer: to the hub that is there now. */
  #dial(): PromClient {
    return new PromClient(this.#url, {
      token: "t",
      retry: { baseMs: 20, maxMs: 200 },
      makeSocket: (url) =>
        new WebSocket(url.replace(/127\.0\.0\.1:\d+/, new URL(this.#url).host)) as unknown as SocketLike,
    });
  }

  async #consume(client: PromClient): Promise<void> {
    const see = (event: Parameters<Sightings["see"]>[0], { attempt }: { attempt: number }): void =>
      this.#seen.see(event, attempt);
    await client.subscribe<number>(TOPIC, "g", see, { from: "earliest", maxAttempts: 1_000 });
  }

  /** A window of publishes at a time; each is answered in the end, whatever becomes of hubs meanwhile. */
  async #publish(client: PromClient): Promise<void> {
    for (let n = 0; !this.#stopping; ) {
      const window = Array.from({ length: 1 + (n % 7) }, () => {
        const number = ++n;
        return client.publish(TOPIC, number, { key: `k${number % KEYS}` });
      });
      for (const { id } of await Promise.all(window)) this.#published.push(id);
    }
  }

  async #progress(events: number): Promise<void> {
    const goal = this.#published.length + events;
    const untilMs = performance.now() + GOES_ON_MS;
    while (this.#published.length < goal) {
      if (performance.now() > untilMs) throw new Error(`publishing did not go on within ${GOES_ON_MS} ms`);
      await pause(5);
    }
  }

  async #drained(tally: Tally, store: string): Promise<void> {
    const untilMs = performance.now() + GOES_ON_MS;
    const missing = (): number => this.#published.filter((id) => !this.#seen.attempts.has(id)).length;
    while (missing() > 0) {
      if (performance.now() > untilMs) {
        tally.anomaly("lost", `${store}: ${missing()} acknowledged events were never delivered`);
        return;
      }
      await pause(20);
    }
  }

  async #judge(tally: Tally, store: string): Promise<void> {
    const opened = await storeAt(this.#place);
    await opened.open();
    const ids: string[] = [];
    for (let partition = 0; partition < PARTITIONS; partition++) {
      for (const { id } of await wholeLog(opened, TOPIC, partition)) ids.push(id);
    }
    await opened.close();
    const kept = new Set(ids);
    if (kept.size < ids.length)
      tally.anomaly("doubled", `${store}: ${ids.length - kept.size} ids came twice`);
    const lost = this.#published.filter((id) => !kept.has(id)).length;
    if (lost > 0) tally.anomaly("lost", `${store}: ${lost} acknowledged events are not in the log`);
    const { unmarked, disordered, deliveries, attempts } = this.#seen;
    for (const id of unmarked) tally.anomaly("duplicate-without-attempt", `${store}: ${id}`);
    for (const key of disordered) tally.anomaly("key-order", `${store}: ${key}`);
    tally.checked("publishes acknowledged", this.#published.length);
    tally.checked("events redelivered, marked", deliveries - attempts.size);
  }
}
