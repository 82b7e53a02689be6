/**
 * Dead letters on their way back: published in order, many at a time, then written down as redriven. Each has one id under which
 * it comes back, so that it does not matter how often, or in which company, it was tried (P3).
 */
import { comebackId } from "../../model/derived-id.js";
import type { EventRecord } from "../../model/event.js";
import type { PublishItem } from "../../model/event-bus.js";
import { firstSeqHeader, type Redriven, redriveHeaders, withoutRedrive } from "../../model/redrive.js";
import { REDRIVE_GROUP_HEADER } from "../../model/topic.js";
import type { Host } from "../host.js";
import { type Letter, settleLetters } from "./dead-letters.js";

const MOST_AT_ONCE = 128;

export interface Way {
  /** Where the letters' events came from, and where they go. */
  readonly topic: string;
  readonly target: string;
  /** Every group gets them, not only the one that gave them up. */
  readonly allGroups?: boolean | undefined;
}

interface Comeback {
  readonly letter: Letter;
  readonly item: PublishItem & { readonly id: string };
}

export class Comebacks {
  readonly #host: Host;
  readonly #way: Way;
  readonly #onBack: (letters: number) => void;
  #waiting: Comeback[] = [];

  constructor(host: Host, way: Way, onBack: (letters: number) => void) {
    this.#host = host;
    this.#way = way;
    this.#onBack = onBack;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isFull(): boolean {
    return this.#waiting.length >= MOST_AT_ONCE;
  }

  /** `turn`: of a key that is held, and released under its own name. */
  add(letter: Letter, changed: { payload: unknown; key?: string }, turn: Redriven | null): void {
    this.#waiting.push({ letter, item: itemOf(letter, changed, turn, this.#way) });
  }

  /** Publishes all that wait. Returns them as they stand in the log. */
  async flush(): Promise<readonly EventRecord[]> {
    const lot = this.#waiting;
    this.#waiting = [];
    return lot.length === 0 ? [] : this.#send(lot);
  }

  async #send(lot: readonly Comeback[]): Promise<readonly EventRecord[]> {
    const events = await this.#publish(lot);
    // One by one, those before the one at fault come back, it is named by its own error, and those behind it stay.
    if (events === null) return this.#sendEach(lot);
    await settleLetters(
      this.#host,
      this.#way.topic,
      lot.map(({ letter, item }) => ({ letter, status: "redriven", outcome: item.id })),
    );
    this.#onBack(lot.length);
    return events;
  }

  async #sendEach(lot: readonly Comeback[]): Promise<readonly EventRecord[]> {
    const events: EventRecord[] = [];
    for (const one of lot) events.push(...(await this.#send([one])));
    return events;
  }

  /** null: not all of several could be published. */
  async #publish(lot: readonly Comeback[]): Promise<readonly EventRecord[] | null> {
    const { target } = this.#way;
    const [first] = lot;
    if (first !== undefined && lot.length === 1) {
      const { payload, ...options } = first.item;
      return [await this.#host.publish(target, payload, options)];
    }
    try {
      return await this.#host.publishMany(
        target,
        lot.map(({ item }) => item),
      );
    } catch {
      return null;
    }
  }
}

function itemOf(
  letter: Letter,
  changed: { payload: unknown; key?: string },
  turn: Redriven | null,
  { topic, target, allGroups }: Way,
): Comeback["item"] {
  const { event, origin } = letter;
  const key = turn === null ? (changed.key ?? event.key) : event.key;
  // Groups of another topic have not had it.
  const only = allGroups || target !== topic ? undefined : { [REDRIVE_GROUP_HEADER]: origin.group };
  const which = only && key === event.key ? firstSeqHeader(event) : undefined;
  return {
    id: comebackId(letter.id, target),
    payload: changed.payload,
    ...(key === undefined ? undefined : { key }),
    // It may have been put there by hand, and what waits for it waits there.
    ...(target === topic && key === event.key ? { partition: origin.partition } : undefined),
    ...(event.tags === undefined ? undefined : { tags: event.tags }),
    ...(event.sid === undefined ? undefined : { sid: event.sid }),
    caused_by: [letter.id, event.id],
    headers: {
      ...withoutRedrive(event.headers),
      ...(turn === null ? { ...only, ...which } : redriveHeaders(turn)),
    },
  };
}
