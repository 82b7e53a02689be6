/** The publishes of one connection: handed to the bus, answered in the order in which they are done, and counted until then. */
import type { Bus } from "../../bus/bus.js";
import type { Place, PublishOptions, PublishWaiter } from "../../model/event-bus.js";
import type { Corr, PublishFrame, PublishManyFrame } from "../protocol.js";
import type { Outgoing } from "./outgoing.js";
import { placedManyText, placedText } from "./publish-frame.js";

export interface PublishesOptions {
  readonly bus: Bus;
  readonly out: Outgoing;
  /** Whether the client takes answers to several publishes in one frame. */
  readonly takesPlaced: () => boolean;
  readonly complain: (error: unknown, corr: Corr | undefined) => void;
}

export class Publishes {
  readonly #options: PublishesOptions;
  #count = 0;
  #onNone: (() => void) | null = null;
  /** Whether an answer that comes now is all that its client waits for. */
  #isAwaited = false;

  constructor(options: PublishesOptions) {
    this.#options = options;
  }

  hand(frame: PublishFrame, options: PublishOptions, text: string | undefined, isAlone = false): void {
    this.#count++;
    const waiter = new Answer(this, frame.corr, frame.topic, isAlone);
    this.#options.bus.submit(frame.topic, frame.payload, options, waiter, text);
  }

  /** As `hand`, of one that came alone to a client that gets nothing but answers: its own goes at once, if it is there at once. */
  handAwaited(frame: PublishFrame, options: PublishOptions, text: string): void {
    this.#isAwaited = true;
    this.hand(frame, options, text, true);
    this.#isAwaited = false;
  }

  /** All of them in their order, or none that stands behind one which the bus refuses; one answer. */
  handMany({ topic, events, corr }: PublishManyFrame): void {
    this.#count++;
    this.#options.bus.publishMany(topic, events).then(
      (records) => {
        this.#options.out.send(placedManyText(corr, records));
        this.#ended();
      },
      (error: unknown) => this.failed(corr, error),
    );
  }

  /** When all of them are answered. */
  async answered(): Promise<void> {
    if (this.#count > 0)
      await new Promise<void>((resolve) => {
        this.#onNone = resolve;
      });
  }

  placed(corr: Corr | undefined, topic: string, place: Place, duplicate: boolean): void {
    const { out, takesPlaced } = this.#options;
    const joins = typeof corr === "number" && Number.isFinite(corr) && !duplicate && takesPlaced();
    if (!joins) out.send(placedText(corr, topic, place, duplicate));
    else if (this.#isAwaited) out.sendPlacedNow(corr, topic, place);
    else out.sendPlaced(corr, topic, place);
    this.#ended();
  }

  failed(corr: Corr | undefined, error: unknown): void {
    this.#options.complain(error, corr);
    this.#ended();
  }

  #ended(): void {
    if (--this.#count === 0) this.#onNone?.();
  }
}

class Answer implements PublishWaiter {
  readonly isAlone: boolean;
  readonly #publishes: Publishes;
  readonly #corr: Corr | undefined;
  readonly #topic: string;

  constructor(publishes: Publishes, corr: Corr | undefined, topic: string, isAlone: boolean) {
    this.isAlone = isAlone;
    this.#publishes = publishes;
    this.#corr = corr;
    this.#topic = topic;
  }

  done(place: Place, duplicate: boolean): void {
    this.#publishes.placed(this.#corr, this.#topic, place, duplicate);
  }

  fail(error: unknown): void {
    this.#publishes.failed(this.#corr, error);
  }
}
