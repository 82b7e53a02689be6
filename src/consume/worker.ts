/**
 * One subscriber of a group inside this bus: takes events as long as it has room, runs its handler, and settles each
 * by how the handler ends. Any number of workers share a group's partitions; the lanes keep each key in order.
 */
import { BusError, describeThrown, Fatal } from "../model/errors.js";
import type { EventRecord, StoredEvent } from "../model/event.js";
import type { BatchHandler, Handler } from "../model/event-bus.js";
import { listOfOne } from "../model/list-of-one.js";
import { soon } from "../model/soon.js";
import { isSnapshotTopic, REDRIVE_GROUP_HEADER } from "../model/topic.js";
import type { Allowance } from "./allowance.js";
import { type Delivered, DeliveredBatch, type Emit, type HandOut } from "./context.js";
import type { HandlingPolicy } from "./entry.js";

/** A handler that takes events in the form the log has them, bytes untouched. */
export type RawHandler = (event: StoredEvent, delivery: Delivered) => unknown;

export type Work =
  | { readonly kind: "single"; readonly handler: Handler }
  | { readonly kind: "batch"; readonly handler: BatchHandler; readonly batchSize: number }
  | { readonly kind: "raw"; readonly handler: RawHandler };

export interface WorkerOptions {
  readonly work: Work;
  readonly handling: HandlingPolicy;
  readonly allowance: Allowance;
  /** How `ctx.emit` publishes. */
  readonly emit: Emit;
  readonly manualAck: boolean;
  readonly filter: ((event: EventRecord) => boolean) | undefined;
  /** Events that this worker may take; others wait for a worker that may. Not a filter. */
  readonly accepts: ((event: EventRecord) => boolean) | undefined;
}

/** For the end of one handler; exactly one of the two is called, once. */
interface Wait {
  delivery: Delivered | null;
  readonly ended: () => void;
  readonly failed: (thrown: unknown) => void;
}

export class Worker {
  readonly options: WorkerOptions;
  /** In no order; each knows its slot, so that taking one out costs nothing. */
  readonly #handOuts: HandOut[] = [];
  #inFlight = 0;
  /** By event id, where acks name the event. */
  readonly #byId: Map<string, Delivered> | null;
  /** Those whose handlers have ended, and that are not settled yet. */
  #endings: Delivered[] | null = null;
  /** Those that wait for nothing now. */
  readonly #waits: Wait[] = [];
  readonly #onRoom: () => void;
  readonly #looksAgain: boolean;
  #leaving = false;
  #onEmpty: (() => void) | null = null;

  constructor(options: WorkerOptions, onRoom: () => void) {
    this.options = options;
    // Whoever takes events as the log has them keeps the deliveries too.
    this.#byId = options.manualAck && options.work.kind !== "raw" ? new Map() : null;
    this.#looksAgain = options.work.kind === "batch" || options.accepts !== undefined;
    this.#onRoom = onRoom;
  }

  get room(): number {
    return this.#leaving ? 0 : this.options.allowance.room;
  }

  /** It could take events, and has no room: it will be woken when it has. */
  waitForRoom(): void {
    if (!this.#leaving) this.options.allowance.wait(this.#onRoom);
  }

  /** It has looked: what room there is others may have. */
  passOn(): void {
    this.options.allowance.passOn();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The event under this id, if this worker holds it and has to be told when it is done. */
  holding(id: string): Delivered | undefined {
    if (this.#byId !== null) return this.#byId.get(id);
    return this.#held().find((delivery) => delivery.event.id === id);
  }

  /** Takes deliveries that were handed out together; a batch worker takes them as one batch. */
  run(deliveries: readonly Delivered[]): void {
    const { work, allowance, emit } = this.options;
    const { handOut } = deliveries[0] as Delivered;
    handOut.emitBy = emit;
    handOut.onOver = this.#over;
    handOut.keep(deliveries);
    handOut.slot = this.#handOuts.push(handOut) - 1;
    this.#inFlight += deliveries.length;
    allowance.take(deliveries.length);
    if (this.#byId !== null) for (const delivery of deliveries) this.#byId.set(delivery.event.id, delivery);
    if (work.kind === "batch") {
      const wanted = deliveries.filter((delivery) => this.#wants(delivery));
      if (wanted.length > 0) this.#runBatch(work.handler, wanted);
      return;
    }
    for (const delivery of deliveries) if (this.#wants(delivery)) this.#runOne(delivery, work);
  }

  /** It may take events now that it did not take before. */
  wake(): void {
    this.#onRoom();
  }

  /** Takes nothing more; resolves when nothing of it is in flight. */
  async leave(): Promise<void> {
    this.#leaving = true;
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** What it still holds goes back to be delivered again, elsewhere. */
  giveBack(reason: string): void {
    this.#leaving = true;
    this.#settleEnded();
    this.options.allowance.leave(this.#onRoom);
    for (const delivery of this.#held()) {
      delivery.source.failed(delivery, { error: reason, counts: false });
      delivery.revoke("lost");
    }
  }

  readonly #over = (delivery: Delivered): void => {
    if (delivery.handOut.letGo(delivery)) this.#drop(delivery.handOut);
    this.#inFlight--;
    this.#byId?.delete(delivery.event.id);
    this.options.allowance.giveBack();
    if (this.#inFlight === 0) this.#onEmpty?.();
    // Who found no room is told by the allowance, and whoever has something ready says so: events that come one at a time
    // need no second look. Those of a batch end together; routed ones may wait for this very worker.
    if (this.#looksAgain) this.#onRoom();
  };

  #drop(handOut: HandOut): void {
    const last = this.#handOuts.pop() as HandOut;
    if (last === handOut) return;
    this.#handOuts[handOut.slot] = last;
    last.slot = handOut.slot;
  }

  #held(): Delivered[] {
    return this.#handOuts.flatMap(({ open }) => open);
  }

  /**
   * Filtered events, and those redriven for another group, are settled; a filter that throws counts as a handler that throws. In a
   * snapshot there are copies for everybody, whomever the event was for.
   */
  #wants(delivery: Delivered): boolean {
    const { filter } = this.options;
    const onlyFor = delivery.event.meta?.headers?.[REDRIVE_GROUP_HEADER];
    if (onlyFor !== undefined && onlyFor !== delivery.group && !isSnapshotTopic(delivery.event.topic)) {
      delivery.source.handled(delivery);
      return false;
    }
    if (filter === undefined) return true;
    try {
      if (filter(delivery.event.record)) return true;
      delivery.source.handled(delivery);
    } catch (thrown) {
      this.#failed(delivery, thrown);
    }
    return false;
  }

  #runOne(delivery: Delivered, work: Exclude<Work, { kind: "batch" }>): void {
    let ending: unknown;
    let isOver: boolean;
    try {
      ending =
        work.kind === "raw"
          ? work.handler(delivery.event, delivery)
          : work.handler(delivery.event.record, delivery);
      isOver = !isThenable(ending);
    } catch (thrown) {
      this.#failed(delivery, thrown);
      return;
    }
    if (isOver) {
      this.#ended(delivery);
      return;
    }
    const wait = this.#waits.pop() ?? this.#newWait();
    wait.delivery = delivery;
    Promise.resolve(ending).then(wait.ended, wait.failed);
  }

  /** Its functions serve one handler after the other: made for each, they would be most of what a delivery leaves behind. */
  #newWait(): Wait {
    const free = (): Delivered => {
      const { delivery } = wait;
      wait.delivery = null;
      this.#waits.push(wait);
      return delivery as Delivered;
    };
    const wait: Wait = {
      delivery: null,
      ended: () => this.#ended(free()),
      failed: (thrown) => this.#failed(free(), thrown),
    };
    return wait;
  }

  #ended(delivery: Delivered): void {
    if (this.options.manualAck) return;
    if (this.#endings !== null) {
      this.#endings.push(delivery);
    } else if (this.#inFlight === 1) {
      // No other can join it.
      delivery.source.handled(delivery);
    } else {
      this.#endings = listOfOne(delivery);
      soon(this.#settleEnded);
    }
  }

  /** Handlers that end in a row are settled together. */
  readonly #settleEnded = (): void => {
    const ended = this.#endings ?? [];
    this.#endings = null;
    for (let from = 0; from < ended.length; ) {
      const { source } = ended[from] as Delivered;
      let end = from + 1;
      while (ended[end]?.source === source) end++;
      source.handledAll(from === 0 && end === ended.length ? ended : ended.slice(from, end));
      from = end;
    }
  };

  #failed(delivery: Delivered, thrown: unknown): void {
    delivery.source.failed(delivery, {
      error: describeThrown(thrown),
      detail: thrown,
      fatal: thrown instanceof Fatal,
    });
  }

  #runBatch(handler: BatchHandler, deliveries: readonly Delivered[]): void {
    const settle = async (): Promise<void> => {
      try {
        const records = deliveries.map((delivery) => delivery.event.record);
        await handler(records, new DeliveredBatch(deliveries));
      } catch (thrown) {
        this.#failBatch(deliveries, thrown);
        return;
      }
      for (const delivery of deliveries) this.#ended(delivery);
    };
    void settle();
  }

  /** Which event is at fault is not known: halves are tried, down to each alone, and only then do failures count. */
  #failBatch(deliveries: readonly Delivered[], thrown: unknown): void {
    const alone = deliveries.length === 1;
    const failure = {
      error: describeThrown(thrown),
      detail: thrown,
      fatal: alone && thrown instanceof Fatal,
      counts: alone,
    };
    for (const delivery of deliveries) delivery.source.failed(delivery, failure);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}

/** A clear error for what is not a handler. */
export function checkHandler(handler: unknown): void {
  if (typeof handler !== "function") throw new BusError("INVALID_OPTION", "the handler must be a function");
}
