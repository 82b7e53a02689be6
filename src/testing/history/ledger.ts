/**
 * One group on one partition, followed event by event: who owned it, what each owner was handed, and what it may
 * count as settled. An owner's knowledge is exact: what the cursor said when it was granted the partition, what it
 * settled itself since, and what lies in the dead-letter topic. Nothing else excuses an event (P4, P5, P7, P8).
 *
 * A moved cursor begins a new generation: what was delivered before it does not count any more.
 */
import { type Cursor, type Epoch, START_CURSOR } from "../../ports/groups.js";
import type { Report } from "./anomaly.js";
import { covers, eventName, type Located, placeName } from "./end-state.js";
import type { GroupPlace, Handling, HistoryEvent } from "./history.js";

export interface GroupRules {
  readonly ordering: "key" | "partition" | "none";
  readonly maxAttempts: number;
}

interface Delivered {
  readonly epoch: Epoch;
  readonly attempt: number;
  readonly batch: number | undefined;
  failed: "threw" | "fatal" | "nacked" | undefined;
}

interface Owner {
  readonly member: string;
  readonly generation: Generation;
  /** The newest cursor that this owner knows to be stored. */
  known: Cursor;
  readonly done: Set<number>;
}

interface Generation {
  readonly deliveries: Map<number, Delivered[]>;
  /** By seq: the hand-outs ("epoch/attempt") that an owner said it was about to make. */
  readonly suspects: Map<number, Set<string>>;
  readonly buried: Set<number>;
}

type Of<T extends HistoryEvent["type"]> = Extract<HistoryEvent, { type: T }>;

export class Ledger {
  readonly #place: GroupPlace;
  readonly #log: readonly Located[];
  readonly #rules: () => GroupRules;
  readonly #report: Report;
  readonly #owners = new Map<Epoch, Owner>();
  readonly #filtered = new Set<number>();
  #generation: Generation = newGeneration();
  #cursor: Cursor | undefined;
  #newest: Epoch = 0;
  #released = false;

  constructor(place: GroupPlace, log: readonly Located[], rules: () => GroupRules, report: Report) {
    this.#place = place;
    this.#log = log;
    this.#rules = rules;
    this.#report = report;
  }

  started({ floor }: Of<"started">): void {
    this.#cursor ??= { ...START_CURSOR, floor, mark: floor };
  }

  granted({ epoch, member, cursor }: Of<"granted">): void {
    if (epoch <= this.#newest)
      this.#tell("zombie-write", `epoch ${epoch} was granted to ${member} after epoch ${this.#newest}`);
    const owner: Owner = { member, generation: this.#generation, known: cursor, done: new Set() };
    this.#compare(cursor, undefined, `the cursor granted with epoch ${epoch}`);
    this.#owners.set(epoch, owner);
    this.#newest = Math.max(epoch, this.#newest);
    this.#released = false;
  }

  committed({ epoch, cursor, released }: Of<"committed">): void {
    const owner = this.#owners.get(epoch);
    if (this.#isStale(epoch)) {
      this.#tell(
        "zombie-write",
        `${owner?.member ?? "somebody"} wrote the cursor (floor ${cursor.floor}) under epoch ${epoch} ${this.#why()}`,
      );
      this.#cursor = cursor;
      return;
    }
    this.#compare(cursor, owner, `the cursor written under epoch ${epoch}`);
    if (owner !== undefined) owner.known = cursor;
    this.#released = released;
    this.#suspect(cursor, epoch);
  }

  moved({ cursor }: Of<"moved">): void {
    this.#cursor = cursor;
    this.#newest++;
    this.#released = true;
    this.#generation = newGeneration();
  }

  deadLettered({ seq, id, epoch }: Of<"dead-lettered">): void {
    const what = eventName({ ...this.#place, seq, id });
    if (epoch !== undefined && this.#isStale(epoch))
      this.#tell("zombie-write", `a dead letter of ${what} was written under epoch ${epoch} ${this.#why()}`);
    const generation = this.#owners.get(epoch ?? this.#newest)?.generation ?? this.#generation;
    generation.buried.add(seq);
    const tries = generation.deliveries.get(seq) ?? [];
    // A crash is pinned on an event that was about to be handed out: that counts as a try.
    const handOuts = new Set(tries.map((t) => `${t.epoch}/${t.attempt}`));
    for (const suspected of generation.suspects.get(seq) ?? []) handOuts.add(suspected);
    const count = handOuts.size;
    const { maxAttempts } = this.#rules();
    if (count < maxAttempts && !tries.some((t) => t.failed === "fatal"))
      this.#tell("dlq-early", `${what} was given up after ${count} of ${maxAttempts} tries`);
  }

  #suspect({ suspect, attempts }: Cursor, epoch: Epoch): void {
    if (suspect === undefined) return;
    const { suspects } = this.#generation;
    const attempt = attempts.find(({ seq }) => seq === suspect)?.delivered ?? 1;
    suspects.set(suspect, (suspects.get(suspect) ?? new Set()).add(`${epoch}/${attempt}`));
  }

  delivered(event: Of<"delivered">): void {
    const { seq, epoch, attempt } = event;
    const what = `${eventName(event)}, attempt ${attempt}, to ${event.member} under epoch ${epoch}`;
    const owner = this.#owners.get(epoch);
    if (owner === undefined) {
      this.#tell("zombie-write", `${what}: delivered under an epoch that was never granted`);
      return;
    }
    this.#checkKnown(event);
    if (covers(owner.known, seq)) this.#tell("redelivered", `${what}: it knew that this was settled`);
    const before = owner.generation.deliveries.get(seq) ?? [];
    this.#checkAttempt(what, event, before);
    const delivered = { epoch, attempt, batch: event.batch, failed: undefined };
    owner.generation.deliveries.set(seq, [...before, delivered]);
    this.#checkOrder(what, event, owner);
  }

  failed(event: Of<"failed">): void {
    const delivered = this.#find(event);
    if (delivered !== undefined) delivered.failed = event.reason;
  }

  /** An ack of an earlier attempt is stale: it settles nothing (P6). */
  settled(event: Of<"settled">, accepted: boolean): void {
    const owner = this.#owners.get(event.epoch);
    if (owner === undefined) return;
    const mine = (owner.generation.deliveries.get(event.seq) ?? []).filter((d) => d.epoch === event.epoch);
    if (event.outcome === "projected" || mine.at(-1)?.attempt === event.attempt) owner.done.add(event.seq);
    else if (accepted)
      this.#tell(
        "stale-ack",
        `the ack of ${eventName(event)}, attempt ${event.attempt}, was accepted during attempt ${mine.at(-1)?.attempt}`,
      );
  }

  filtered({ seq }: { readonly seq: number }): void {
    this.#filtered.add(seq);
  }

  /** P15: the run is over and all is said to be settled. */
  finished(final: Cursor | undefined): void {
    const open = this.#log.filter(({ seq }) => final === undefined || !covers(final, seq));
    for (const event of open) this.#tell("lost", `${eventName(event)} was never settled`);
    const head = this.#log.at(-1)?.seq ?? 0;
    if (final !== undefined && final.floor > head)
      this.#tell("skipped", `the floor is ${final.floor}, and the log ends at ${head}`);
  }

  #find(event: Handling): Delivered | undefined {
    const tries = this.#owners.get(event.epoch)?.generation.deliveries.get(event.seq) ?? [];
    return tries.find((d) => d.epoch === event.epoch && d.attempt === event.attempt);
  }

  #isStale(epoch: Epoch): boolean {
    return epoch !== this.#newest || this.#released;
  }

  #why(): string {
    return this.#released ? "after it was released or moved" : `after epoch ${this.#newest} was granted`;
  }

  /** Every seq that this cursor newly counts as settled needs a reason; none may come open again. */
  #compare(cursor: Cursor, owner: Owner | undefined, what: string): void {
    const before = this.#cursor;
    this.#cursor = cursor;
    for (const event of this.#log) {
      const [was, is] = [before !== undefined && covers(before, event.seq), covers(cursor, event.seq)];
      if (was && !is)
        this.#tell("zombie-write", `${what} opens ${eventName(event)} again, which was settled`);
      if (is && !was && !(owner !== undefined && this.#isSettledFor(owner, event.seq)))
        this.#tellUnsettled(event, what);
    }
  }

  #tellUnsettled(event: Located, what: string): void {
    const tries = this.#generation.deliveries.get(event.seq) ?? [];
    const givenUp = tries.some(
      (t) => t.failed === "fatal" || (t.failed !== undefined && tries.length >= this.#rules().maxAttempts),
    );
    if (givenUp)
      this.#tell("dlq-missing", `${what} passes ${eventName(event)}, which failed for good and has no copy`);
    else this.#tell("skipped", `${what} passes ${eventName(event)}, which nobody settled`);
  }

  #isSettledFor(owner: Owner, seq: number): boolean {
    const { known, done, generation } = owner;
    return covers(known, seq) || done.has(seq) || generation.buried.has(seq) || this.#filtered.has(seq);
  }

  #checkKnown(event: Of<"delivered">): void {
    const logged = this.#log.find(({ seq }) => seq === event.seq);
    if (logged?.id !== event.id || logged.key !== event.key)
      this.#tell(
        "phantom",
        `${eventName(event)} was delivered, and the log has ${logged ? eventName(logged) : "nothing"} there`,
      );
  }

  /**
   * An owner that was paused may hand out late, as attempt 1, what its successor has handed out already: the
   * first time is then the one under the older epoch.
   */
  #checkAttempt(what: string, event: Of<"delivered">, before: readonly Delivered[]): void {
    const again = before.find(
      (d) =>
        (event.attempt === 1 && (d.attempt === 1 || d.epoch <= event.epoch)) ||
        (d.epoch === event.epoch && d.attempt >= event.attempt),
    );
    if (again !== undefined)
      this.#tell(
        "duplicate-without-attempt",
        `${what}: it was delivered before, as attempt ${again.attempt} under epoch ${again.epoch}`,
      );
  }

  #checkOrder(what: string, event: Of<"delivered">, owner: Owner): void {
    const { ordering } = this.#rules();
    if (ordering === "none" || (ordering === "key" && event.key === undefined)) return;
    for (const earlier of this.#log) {
      if (earlier.seq >= event.seq) return;
      if (ordering === "key" && earlier.key !== event.key) continue;
      if (this.#isSettledFor(owner, earlier.seq) || this.#sameBatch(owner, earlier.seq, event.batch))
        continue;
      this.#tell("key-order", `${what}: ${eventName(earlier)}, before it in line, is not settled`);
      return;
    }
  }

  #sameBatch(owner: Owner, seq: number, batch: number | undefined): boolean {
    return batch !== undefined && owner.generation.deliveries.get(seq)?.at(-1)?.batch === batch;
  }

  #tell(anomaly: Parameters<Report>[0], says: string): void {
    this.#report(anomaly, `${placeName(this.#place)}: ${says}`);
  }
}

function newGeneration(): Generation {
  return { deliveries: new Map(), suspects: new Map(), buried: new Set() };
}
