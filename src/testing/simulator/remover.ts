/**
 * Somebody who fills a topic and has it removed, again and again, through whichever process runs: some removals are
 * stopped midway, beside some of them it is written to. What is removed may be missing, and nothing else (P1, P2).
 */
import { pause } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { Dice } from "./dice.js";
import type { SimulatedPayload } from "./naming.js";
import { noteAsked, noteFailure, noteOk } from "./publishing.js";
import { ERRAND_PARTITIONS, ERRANDS } from "./scenario.js";
import { isExplained, type SimulatedProcess } from "./simulated-process.js";
import type { World } from "./world.js";

/** How long it waits for an answer: a process that died gives none. */
const PATIENCE_MS = 3_000;
const MOST_BESIDE = 12;
const LAST_TRIES = 50;
const NAME = "remover";

export class Remover {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #pick: () => SimulatedProcess | undefined;
  #made = 0;

  constructor(world: World, pick: () => SimulatedProcess | undefined) {
    this.#world = world;
    this.#dice = world.dice.fork(NAME);
    this.#pick = pick;
  }

  /** Fills and removes the topic `times` times over about `overMs`. */
  async run(times: number, overMs: number): Promise<void> {
    if (times === 0) return;
    await this.#world.raw.registry.defineTopic({ name: ERRANDS, partitions: ERRAND_PARTITIONS });
    for (let i = 0; i < times; i++) {
      await pause(this.#world.clock, this.#dice.between(1, Math.ceil((2 * overMs) / times)));
      await this.#publishSome();
      const isAlone = this.#dice.chance(0.5);
      const removing = this.#remove({ isStopped: this.#dice.chance(0.25) });
      await (isAlone ? removing : this.#publishBeside(removing));
      if (this.#dice.chance(0.3)) await this.#remove({ isStopped: false });
    }
  }

  /** Without faults it is gone in the end, and comes back for whoever publishes (P15). */
  async finish(): Promise<void> {
    if (this.#world.scenario.removals === 0) return;
    const [isGone, isBack] = [
      await this.#insist(() => this.#remove({ isStopped: false })),
      this.#dice.chance(0.5) || (await this.#insist(() => this.#publish())),
    ];
    if (!isGone || !isBack)
      this.#world.recorder.record({
        type: "stalled",
        waiting: `${ERRANDS} cannot be ${isGone ? "written to" : "removed"}`,
      });
  }

  async #insist(attempt: () => Promise<boolean>): Promise<boolean> {
    for (let tries = 0; tries < LAST_TRIES; tries++) {
      if (await attempt()) return true;
      await pause(this.#world.clock, 100);
    }
    return false;
  }

  async #publishSome(): Promise<void> {
    const count = this.#dice.between(1, 4);
    await Promise.all(Array.from({ length: count }, () => this.#publish()));
  }

  /** One after the other, so that some come between any two steps of the removal. */
  async #publishBeside(removing: Promise<unknown>): Promise<void> {
    let isOver = false;
    const over = removing.then(() => {
      isOver = true;
    });
    for (let n = 0; n < MOST_BESIDE && !isOver; n++) await this.#publish();
    await over;
  }

  /** Whether it was acknowledged. Asks again with the same id when it hears nothing certain. */
  async #publish(): Promise<boolean> {
    const n = ++this.#made;
    const payload: SimulatedPayload = { name: `errand-${n}`, n };
    const options = { id: this.#world.clock.newId(), key: `key-${n % 7}` };
    for (let tries = 0; tries < 3; tries++) {
      const process = this.#pick();
      const bus = process?.bus;
      if (process === undefined || bus === undefined) await pause(this.#world.clock, 200);
      else {
        const op = noteAsked(this.#world, NAME, ERRANDS, payload, options.key);
        const asked = bus.publish(ERRANDS, payload, options).then(
          (record) => {
            if (!process.gone) noteOk(this.#world, op, record);
            return !process.gone;
          },
          (error: unknown) => {
            noteFailure(this.#world, op, BusError.from(error));
            return false;
          },
        );
        if (await this.#patiently(asked)) return true;
      }
    }
    return false;
  }

  /** Whether it is certain that the topic was gone at some moment since. */
  async #remove({ isStopped }: { isStopped: boolean }): Promise<boolean> {
    const { recorder } = this.#world;
    const process = this.#pick();
    if (process?.bus === undefined) return false;
    const over = new AbortController();
    const onProgress = ({ events }: { events: number }): void => {
      if (isStopped && events > 0) over.abort();
    };
    const op = recorder.nextOp();
    recorder.record({ type: "removal-asked", op, topic: ERRANDS });
    const asked = process.bus.admin.removeTopic(ERRANDS, { signal: over.signal, onProgress }).then(
      () => {
        if (!process.gone) recorder.record({ type: "removal-ok", op });
        return !process.gone;
      },
      (error: unknown) => {
        const { code } = BusError.from(error);
        recorder.record({ type: "removal-failed", op, code });
        if (!isExplained(error) && code !== "NOT_FOUND" && code !== "WRITE_CONFLICT") this.#world.fail(error);
        return code === "NOT_FOUND";
      },
    );
    return this.#patiently(asked);
  }

  #patiently(asked: Promise<boolean>): Promise<boolean> {
    return Promise.race([asked, pause(this.#world.clock, PATIENCE_MS).then(() => false)]);
  }
}
