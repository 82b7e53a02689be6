/**
 * Shares the ready events of a group's partitions among this bus's workers: whoever has room gets the next ones, a
 * fair part each, partitions in turn. Workers may come and go at any time; nothing is rebalanced for it.
 */

import { describeThrown } from "../model/errors.js";
import { soon } from "../model/soon.js";
import type { Delivered } from "./context.js";
import type { DeliveryShell } from "./delivery-shell.js";
import { Fifo } from "./fifo.js";
import type { Worker } from "./worker.js";

/** Events that wait for a worker that accepts them; beyond this no more are taken out of the lanes. */
const MAX_PARKED = 100;

/**
 * When so many were handed out, handlers that are quick end first: what is handed out, handled and gone again within a short while
 * stays in the processor's caches, and fewer events meet one of their key that is still under way.
 */
const LOT = 128;

/** Events handed out in a row; then timers and sockets have their turn, however quick handlers and store are. */
const MAX_STRETCH = 1_000;
/** An event counts as one for each so many bytes: reading and parsing it takes as long as so many small ones. */
const BYTES_OF_ONE = 2_048;

export class Dispatcher {
  readonly #workers: Worker[] = [];
  /** Partitions with something to hand out, as far as is known: each once, the next one first. */
  readonly #ready = new Fifo<DeliveryShell>();
  readonly #parked = new Set<Delivered>();
  #scheduled = false;
  #paused = false;
  /** Some worker takes only events that it accepts. */
  #routed = false;
  #turn = 0;
  #stretch = 0;

  get workers(): readonly Worker[] {
    return this.#workers;
  }

  addWorker(worker: Worker): void {
    this.#workers.push(worker);
    this.#workersChanged();
  }

  removeWorker(worker: Worker): void {
    const at = this.#workers.indexOf(worker);
    if (at >= 0) this.#workers.splice(at, 1);
    this.#workersChanged();
  }

  #workersChanged(): void {
    this.#routed = this.#workers.some(({ options }) => options.accepts !== undefined);
    this.wake();
  }

  /** While paused nothing is handed out; what runs goes on. */
  setPaused(paused: boolean): void {
    this.#paused = paused;
    this.wake();
  }

  /** The partition has something to hand out. */
  readonly offer = (shell: DeliveryShell): void => {
    this.#list(shell);
    this.wake();
  };

  /** Looks for work once the present turn is over: many settles in a turn cost one look. */
  readonly wake = (): void => {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (this.#stretch < MAX_STRETCH) {
      soon(this.#look);
    } else {
      this.#stretch = 0;
      setImmediate(this.#look);
    }
  };

  readonly #look = (): void => {
    this.#scheduled = false;
    if (!this.#paused) this.#handOut();
    for (const worker of this.#workers) worker.passOn();
  };

  #list(shell: DeliveryShell): void {
    if (shell.isListed) return;
    shell.isListed = true;
    this.#ready.push(shell);
  }

  /** Partitions in turn, so that none is always first, until none has anything that goes out now. */
  #handOut(): void {
    if (this.#parked.size > 0) this.#unpark();
    const most = Math.min(this.#stretch + LOT, MAX_STRETCH);
    for (let inVain = 0; inVain < this.#ready.length && this.#stretch < most; ) {
      if (!this.#routed && !this.#hasRoom()) return;
      const shell = this.#ready.shift() as DeliveryShell;
      shell.isListed = false;
      if (!shell.hasReady) continue;
      const before = this.#stretch;
      this.#stretch += this.#routed ? this.#route(shell) : this.#share(shell);
      inVain = this.#stretch > before ? 0 : inVain + 1;
      if (shell.hasReady) this.#list(shell);
    }
    if (this.#stretch >= most) this.wake();
  }

  /** If nobody has, they will be woken when they have. */
  #hasRoom(): boolean {
    if (this.#workers.some(({ room }) => room > 0)) return true;
    for (const worker of this.#workers) worker.waitForRoom();
    return false;
  }

  /** What was handed out counts as so many. */
  #share(shell: DeliveryShell): number {
    const fair = Math.ceil(shell.state.ready.length / this.#workers.length);
    const weight = weightOf(shell);
    let handedOut = 0;
    // The turn moves on, so that no worker is always first.
    this.#turn++;
    for (let i = 0; i < this.#workers.length; i++) {
      const worker = this.#workers[(this.#turn + i) % this.#workers.length] as Worker;
      const { work, handling } = worker.options;
      const batch = work.kind === "batch";
      const count = Math.min(worker.room, batch ? work.batchSize : fair, mostOf(weight, batch));
      if (count <= 0) {
        worker.waitForRoom();
        continue;
      }
      const deliveries = shell.demand(count, batch, handling);
      if (deliveries.length === 0) continue;
      handedOut += weight * deliveries.length;
      worker.run(deliveries);
    }
    return handedOut;
  }

  /** One event at a time, to a worker that accepts it; parked if there is none with room now. */
  #route(shell: DeliveryShell): number {
    const handling = this.#workers[0]?.options.handling;
    if (handling === undefined || this.#parked.size >= MAX_PARKED) return 0;
    const weight = weightOf(shell);
    const [delivery] = shell.demand(1, false, handling);
    if (delivery === undefined) return 0;
    if (!this.#give(delivery)) this.#park(delivery);
    return weight;
  }

  /** False if nobody takes it now; nothing was done to it then. */
  #give(delivery: Delivered): boolean {
    const { record } = delivery.event;
    let worker: Worker | undefined;
    try {
      worker = this.#workers.find((w) => w.room > 0 && (w.options.accepts?.(record) ?? true));
    } catch (thrown) {
      // Whoever should say whose it is throws: as if its handler threw.
      delivery.source.failed(delivery, { error: describeThrown(thrown), detail: thrown });
      return true;
    }
    if (worker === undefined) {
      for (const one of this.#workers) if (one.room <= 0) one.waitForRoom();
      return false;
    }
    this.#parked.delete(delivery);
    delivery.source.extend(delivery, worker.options.handling.ackTimeoutMs);
    worker.run([delivery]);
    return true;
  }

  /** Nobody works on it, so no deadline runs. */
  #park(delivery: Delivered): void {
    this.#parked.add(delivery);
    delivery.handOut.onOver = () => this.#parked.delete(delivery);
    delivery.source.extend(delivery, Number.POSITIVE_INFINITY);
  }

  #unpark(): void {
    for (const delivery of [...this.#parked]) this.#give(delivery);
  }

  /** Parked events go back to their lanes; for when the workers leave. */
  dropParked(): void {
    for (const delivery of [...this.#parked]) {
      delivery.source.failed(delivery, { error: "no subscriber took it", counts: false });
    }
  }
}

/** What an event of this partition counts as, by those that are at hand. */
function weightOf({ state: { buffered, bufferedBytes } }: DeliveryShell): number {
  return Math.max(1, bufferedBytes / (BYTES_OF_ONE * Math.max(1, buffered)));
}

/** Of large events fewer at once, in a batch too. */
function mostOf(weight: number, batch: boolean): number {
  return weight === 1 ? Number.POSITIVE_INFINITY : Math.ceil((batch ? MAX_STRETCH : LOT) / weight);
}
