/**
 * The hubs on one store: each writes down where it is and that it is there, and takes its entry away when it goes. One that
 * was killed is no longer listed once it has been silent for a while, and its entry is removed by whoever looks, or begins, later.
 */
import { hostname } from "node:os";
import type { Bus } from "../bus/bus.js";
import type { CancelTimer } from "../model/clock.js";
import type { JsonValue } from "../model/json.js";

const PREFIX = "hub:";
const BEAT_MS = 5_000;
const SILENT_MS = 20_000;
const FORGET_MS = 600_000;

export interface HubEntry {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly host: string;
  readonly pid: number;
  readonly startedMs: number;
  readonly seenMs: number;
  readonly connections: number;
}

export class HubRoll {
  readonly id: string;
  readonly #bus: Bus;
  readonly #describe: () => Pick<HubEntry, "name" | "url" | "startedMs" | "connections">;
  #cancel: CancelTimer | null = null;
  #writing: Promise<void> = Promise.resolve();
  #over = false;

  constructor(bus: Bus, describe: () => Pick<HubEntry, "name" | "url" | "startedMs" | "connections">) {
    this.#bus = bus;
    this.#describe = describe;
    this.id = bus.clock.newId();
  }

  start(): void {
    this.#writing = this.#begin();
    this.#schedule();
  }

  async list(): Promise<HubEntry[]> {
    const { registry } = this.#bus.store;
    const nowMs = this.#bus.clock.now();
    const listed: HubEntry[] = [];
    for (const [name, { value, revision }] of await registry.tokens(PREFIX)) {
      const entry = value as unknown as HubEntry;
      if (nowMs - entry.seenMs < SILENT_MS) listed.push(entry);
      else if (nowMs - entry.seenMs > FORGET_MS)
        await registry.putToken(name, null, { expected: revision }).catch(() => 0);
    }
    return listed.sort((a, b) => a.startedMs - b.startedMs);
  }

  /** Takes its entry away, if the store lets it. */
  async close(): Promise<void> {
    this.#over = true;
    this.#cancel?.();
    await this.#writing;
    await this.#write(null);
  }

  #schedule(): void {
    if (this.#over) return;
    this.#cancel = this.#bus.clock.setTimer(BEAT_MS, () => {
      this.#writing = this.#enter();
      this.#schedule();
    });
  }

  /** Where nobody ever looks, each hub that was killed would leave its entry for good. */
  async #begin(): Promise<void> {
    await this.#enter();
    await this.list().catch(() => undefined);
  }

  #enter(): Promise<void> {
    return this.#write({
      id: this.id,
      ...this.#describe(),
      host: hostname(),
      pid: process.pid,
      seenMs: this.#bus.clock.now(),
    });
  }

  /** It is a courtesy to people who look: a store that is away must not hold anything up. */
  async #write(entry: HubEntry | null): Promise<void> {
    const { registry } = this.#bus.store;
    try {
      const token = await registry.token(PREFIX + this.id);
      if (entry === null && token === null) return;
      const value = entry as unknown as JsonValue;
      await registry.putToken(PREFIX + this.id, value, { expected: token?.revision ?? 0 });
    } catch {
      // Written anew at the next beat.
    }
  }
}
