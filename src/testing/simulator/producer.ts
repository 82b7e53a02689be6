/**
 * A producer outside the simulated processes: it publishes through whichever of them runs, and when it hears nothing
 * certain it asks again with the same id, perhaps through another one (P3).
 */
import type { Bus } from "../../bus/bus.js";
import { pause } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { PublishedRecord, PublishItem } from "../../model/event-bus.js";
import type { Dice } from "./dice.js";
import type { SimulatedPayload } from "./naming.js";
import { noteAsked, noteFailure, noteOk } from "./publishing.js";
import { ORDERS } from "./scenario.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { World } from "./world.js";

/** How long a producer waits for an answer: a process that died gives none. */
const PATIENCE_MS = 6_000;

type Item = PublishItem<SimulatedPayload>;

export class Producer {
  readonly #world: World;
  readonly #name: string;
  readonly #dice: Dice;
  readonly #pick: () => SimulatedProcess | undefined;
  #made = 0;

  constructor(world: World, name: string, pick: () => SimulatedProcess | undefined) {
    this.#world = world;
    this.#name = name;
    this.#dice = world.dice.fork(name);
    this.#pick = pick;
  }

  /** Publishes `count` events over about `overMs`. */
  async run(count: number, overMs: number): Promise<void> {
    while (this.#made < count) {
      await pause(this.#world.clock, this.#dice.between(1, Math.ceil((2 * overMs) / count)));
      const size = this.#dice.chance(0.3) ? this.#dice.between(2, 5) : 1;
      await this.#deliver(Array.from({ length: Math.min(size, count - this.#made) }, () => this.#make()));
    }
  }

  #make(): Item {
    const n = ++this.#made;
    const key = this.#dice.chance(0.85)
      ? `key-${this.#dice.between(1, this.#world.scenario.keys)}`
      : undefined;
    // With an id of its own a publish may be repeated; without one the bus makes one that is new.
    const id = this.#dice.chance(0.6) ? this.#world.clock.newId() : undefined;
    return {
      payload: { name: `${this.#name}-${n}`, n },
      ...(id !== undefined && { id }),
      ...(key !== undefined && { key }),
    };
  }

  async #deliver(items: readonly Item[]): Promise<void> {
    let open = items;
    for (let tries = 0; open.length > 0 && tries < 6; tries++) {
      const process = this.#pick();
      if (process?.bus === undefined) await pause(this.#world.clock, 200);
      else open = (await this.#ask(process, process.bus, open)).filter((item) => item.id !== undefined);
    }
  }

  /** Those of the items whose outcome is not certain, or that may be sent again for the test's sake. */
  async #ask(process: SimulatedProcess, bus: Bus, items: readonly Item[]): Promise<readonly Item[]> {
    const ops = items.map((item) => noteAsked(this.#world, this.#name, ORDERS, item.payload, item.key));
    const answer = this.#publish(bus, items).then(
      (records) => {
        for (const [i, record] of records.entries()) {
          if (!process.gone) noteOk(this.#world, ops[i] as number, record);
        }
        return this.#dice.chance(0.05) ? items : [];
      },
      (error: unknown) => this.#failed(BusError.from(error), items, ops),
    );
    const patience = pause(this.#world.clock, PATIENCE_MS).then(() => items);
    return Promise.race([answer, patience]);
  }

  async #publish(bus: Bus, items: readonly Item[]): Promise<readonly PublishedRecord[]> {
    const [first] = items as readonly [Item];
    if (items.length > 1) return bus.publishMany(ORDERS, items);
    const { payload, ...options } = first;
    return [await bus.publish(ORDERS, payload, options)];
  }

  /** Of several, each may have fared differently: `details.failed` says which did not make it. */
  #failed(error: BusError, items: readonly Item[], ops: readonly number[]): readonly Item[] {
    const failed = (error.details?.failed ?? [{ index: 0, code: error.code }]) as {
      index: number;
      code: string;
    }[];
    if (items.length > 1 && error.details?.failed === undefined) {
      for (const op of ops) noteFailure(this.#world, op, error);
      return items;
    }
    for (const { index, code } of failed) noteFailure(this.#world, ops[index] as number, { code });
    return failed.map(({ index }) => items[index] as Item);
  }
}
