/** What is known of each draft of one append: in the log, there before, or waiting; and what the caller is told of it. */
import type { Timestamp } from "mongodb";
import { BusError } from "../../../model/errors.js";
import { type EventDraft, type Seq, StoredEvent } from "../../../model/event.js";
import type { AppendResult } from "../../../ports/log.js";
import type { Place } from "./event-lookup.js";

export class AppendBatch {
  /** Indexes of drafts that are neither in the log nor known to be there. */
  waiting: number[] = [];
  /** An insert of waiting drafts was sent, and whether it took place is not known. */
  inDoubt = false;
  /** When the last insert ran into another writer's, by the server's logical time. */
  lostAt: Timestamp | undefined;
  /** How often one did. */
  losses = 0;
  readonly #drafts: readonly EventDraft[];
  readonly #events: (StoredEvent | undefined)[];
  readonly #duplicates = new Set<number>();
  /** Drafts that an earlier round may have put in: finding them is no surprise. */
  readonly #doubtful = new Set<number>();
  #firsts: ReadonlyMap<string, number> | undefined;

  constructor(drafts: readonly EventDraft[]) {
    this.#drafts = drafts;
    this.#events = new Array(drafts.length);
    const allFresh = drafts.every((draft) => draft.freshId);
    for (let i = 0; i < drafts.length; i++) {
      if (allFresh || this.#firstOf((drafts[i] as EventDraft).id) === i) this.waiting.push(i);
      else this.#duplicates.add(i);
    }
  }

  unsureIds(): string[] {
    return this.#drafts.filter((draft) => !draft.freshId).map((draft) => draft.id);
  }

  /** Of those that wait, the ones that somebody, or an earlier round, may have brought. */
  unsureWaitingIds(): string[] {
    return this.waiting
      .filter((i) => this.#doubtful.has(i) || !(this.#drafts[i] as EventDraft).freshId)
      .map((i) => (this.#drafts[i] as EventDraft).id);
  }

  /** The others of those that wait. */
  freshWaitingIds(): string[] {
    return this.waiting
      .filter((i) => !this.#doubtful.has(i) && (this.#drafts[i] as EventDraft).freshId)
      .map((i) => (this.#drafts[i] as EventDraft).id);
  }

  waitingDrafts(): readonly EventDraft[] {
    if (this.waiting.length === this.#drafts.length) return this.#drafts;
    return this.waiting.map((i) => this.#drafts[i] as EventDraft);
  }

  waitingIds(): string[] {
    return this.waitingDrafts().map((draft) => draft.id);
  }

  /** The first `count` of the waiting drafts are in the log, from `after` on. */
  placed(count: number, after: Seq, { topic, partition }: Place): void {
    for (let n = 0; n < count; n++) {
      const i = this.waiting[n] as number;
      this.#events[i] = new StoredEvent(topic, partition, after + 1 + n, this.#drafts[i] as EventDraft);
    }
    this.waiting = this.waiting.slice(count);
  }

  /** What became of the waiting drafts is not known for now. */
  doubt(): void {
    for (const i of this.waiting) this.#doubtful.add(i);
  }

  /** These were in the log before (P3), unless an earlier round put them there. */
  found(events: readonly StoredEvent[]): void {
    for (const { id } of events) {
      const i = this.#firstOf(id);
      if (!this.#doubtful.has(i)) this.#duplicates.add(i);
    }
    this.confirmed(events);
  }

  /** These are in the log; as far as anybody can tell, by us. */
  confirmed(events: readonly StoredEvent[]): void {
    for (const event of events) this.#events[this.#firstOf(event.id)] = event;
    this.waiting = this.waiting.filter((i) => this.#events[i] === undefined);
  }

  result(error?: BusError): AppendResult {
    const events: StoredEvent[] = [];
    for (let i = 0; i < this.#drafts.length; i++) {
      const event = this.#events[i] ?? this.#events[this.#firstOf((this.#drafts[i] as EventDraft).id)];
      if (event === undefined) break;
      events.push(event);
    }
    const duplicates = new Set([...this.#duplicates].filter((i) => i < events.length));
    return error === undefined ? { events, duplicates } : { events, duplicates, error: this.#honest(error) };
  }

  /** A later round that surely failed says nothing about an earlier one, which may arrive late. */
  #honest(error: BusError): BusError {
    if (error.code === "OUTCOME_UNKNOWN" || !this.waiting.some((i) => this.#doubtful.has(i))) return error;
    const message = `an earlier try may have been stored; the last one failed: ${error.message}`;
    return new BusError("OUTCOME_UNKNOWN", message, { cause: error });
  }

  /** Index of the draft that brought the id first. Ids that a bus has just made differ: where all are such, nobody asks. */
  #firstOf(id: string): number {
    this.#firsts ??= new Map(this.#drafts.map((draft, i) => [draft.id, i] as const).reverse());
    return this.#firsts.get(id) as number;
  }
}
