/** What is known of each draft of one append: in the log, there before, or waiting; and what the caller is told of it. */
import type { Timestamp } from "mongodb";
import type { BusError } from "../../model/errors.js";
import { type EventDraft, type Seq, StoredEvent } from "../../model/event.js";
import type { AppendResult } from "../../ports/log.js";
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
  /** Index of the draft that brought the id first. */
  readonly #firsts = new Map<string, number>();

  constructor(drafts: readonly EventDraft[]) {
    this.#drafts = drafts;
    this.#events = new Array(drafts.length);
    drafts.forEach((draft, i) => {
      if (this.#firsts.has(draft.id)) this.#duplicates.add(i);
      else {
        this.#firsts.set(draft.id, i);
        this.waiting.push(i);
      }
    });
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

  waitingDrafts(): EventDraft[] {
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
      const i = this.#firsts.get(id) as number;
      if (!this.#doubtful.has(i)) this.#duplicates.add(i);
    }
    this.confirmed(events);
  }

  /** These are in the log; as far as anybody can tell, by us. */
  confirmed(events: readonly StoredEvent[]): void {
    for (const event of events) this.#events[this.#firsts.get(event.id) as number] = event;
    this.waiting = this.waiting.filter((i) => this.#events[i] === undefined);
  }

  result(error?: BusError): AppendResult {
    const events: StoredEvent[] = [];
    for (const [i, draft] of this.#drafts.entries()) {
      const event = this.#events[i] ?? this.#events[this.#firsts.get(draft.id) as number];
      if (event === undefined) break;
      events.push(event);
    }
    const duplicates = new Set([...this.#duplicates].filter((i) => i < events.length));
    return error === undefined ? { events, duplicates } : { events, duplicates, error };
  }
}
