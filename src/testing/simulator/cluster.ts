/** The processes of a run: each in its place, ended and begun again as the run goes on. */
import { pause } from "../../model/clock.js";
import type { Dice } from "./dice.js";
import { type Blow, type GroupPlan, ORDERS } from "./scenario.js";
import { SimulatedProcess } from "./simulated-process.js";
import type { World } from "./world.js";

interface Place {
  readonly name: string;
  incarnation: number;
  process: SimulatedProcess;
}

export class Cluster {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #places: Place[] = [];
  /** Everybody who ever lived, to be looked at in the end. */
  readonly #all: SimulatedProcess[] = [];
  /** Processes in the middle of moving a cursor. */
  readonly #moving = new Set<SimulatedProcess>();
  #closing = false;

  constructor(world: World) {
    this.#world = world;
    this.#dice = world.dice.fork("cluster");
  }

  get processes(): readonly SimulatedProcess[] {
    return this.#places.map((place) => place.process);
  }

  /** What was begun and would still change where a group stands. */
  get unfinished(): readonly string[] {
    return [...this.#moving].filter((process) => !process.gone).map(({ name }) => `${name} moves a cursor`);
  }

  get everyone(): readonly SimulatedProcess[] {
    return this.#all;
  }

  begin(): void {
    for (let i = 1; i <= this.#world.scenario.processes; i++) {
      const place = { name: `bus-${i}`, incarnation: 0 } as Place;
      this.#places.push(place);
      this.#incarnate(place);
    }
  }

  /** Any process that runs now. */
  pick(dice: Dice): SimulatedProcess | undefined {
    const running = this.processes.filter((process) => process.bus !== undefined);
    return running[Math.floor(dice.roll() * running.length)];
  }

  strike(blow: Blow): void {
    const victim = this.pick(this.#dice);
    if (victim === undefined) return;
    switch (blow) {
      case "crash":
        victim.crash();
        break;
      case "freeze":
        this.#freeze(victim);
        break;
      case "leave":
        victim.leave();
        break;
      case "evict":
        victim.own(this.#world.raw.groups.close(victim.name, { nowMs: this.#world.clock.now() }));
        break;
      case "unsubscribe":
        victim.own(this.#unsubscribe(victim));
        break;
      case "move":
        victim.own(this.#move(victim));
        break;
    }
  }

  /** No more faults: everybody thaws, and whoever is missing comes back. */
  endFaults(): void {
    for (const process of this.#all) process.endFaults();
  }

  /** Everybody leaves, and nobody comes back. */
  close(): void {
    this.#closing = true;
    for (const process of this.processes) process.leave();
  }

  #incarnate(place: Place): void {
    place.incarnation++;
    const name = `${place.name}.${place.incarnation}`;
    const process = new SimulatedProcess(this.#world, name, () => this.#ended(place));
    place.process = process;
    this.#all.push(process);
    process.start(this.#world.scenario.groups);
  }

  #ended(place: Place): void {
    if (this.#closing) return;
    this.#world.clock.setTimer(this.#dice.between(50, 1_200), () => {
      if (!this.#closing) this.#incarnate(place);
    });
  }

  /** Often for longer than its lease lasts. */
  #freeze(process: SimulatedProcess): void {
    const { leaseMs } = this.#world.scenario;
    process.freeze();
    this.#world.clock.setTimer(this.#dice.between(50, leaseMs * 2.5), () => process.thaw());
  }

  /** For a while, or for good if others take part. */
  async #unsubscribe(process: SimulatedProcess): Promise<void> {
    const group = this.#anyGroup();
    await process.unsubscribe(group);
    if (this.#places.length > 1 && this.#dice.chance(0.3) && process !== this.#places[0]?.process) return;
    await pause(process.handlerClock, this.#dice.between(1, 3_000));
    await process.resubscribe(group);
  }

  async #move(process: SimulatedProcess): Promise<void> {
    const group = this.#anyGroup();
    const { clock } = this.#world;
    const to = this.#dice.weighted({ earliest: 2, latest: 1, ago: 2 });
    const target = to === "ago" ? { lastTs: clock.now() - this.#dice.between(0, 3_000) } : to;
    if (process.bus === undefined) return;
    this.#moving.add(process);
    try {
      await process.bus.setCursor(ORDERS, group.name, target);
    } finally {
      this.#moving.delete(process);
    }
  }

  #anyGroup(): GroupPlan {
    return this.#dice.pick(this.#world.scenario.groups as readonly [GroupPlan, ...GroupPlan[]]);
  }
}
