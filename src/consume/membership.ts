/**
 * This bus as a member of groups: one session for all of them, kept alive by beats, and the news of who came, went or
 * gave a partition back, from the store's signals and from a cheap look now and then.
 */
import { hostname } from "node:os";
import { type CancelTimer, type Clock, pause } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { mapAtMost } from "../model/map-at-most.js";
import { nextTurn } from "../model/next-turn.js";
import { type GroupRef, type Groups, groupKey, type Session } from "../ports/groups.js";

export interface MembershipOptions {
  /** Unique per bus; by default it says where the bus runs. */
  readonly member: string | undefined;
  readonly groups: Groups;
  readonly clock: Clock;
  /** A silent member's partitions may be taken after this long. */
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** How often to ask what changed; signals make it sooner. */
  readonly lookMs: number;
  readonly onTrouble: (error: BusError) => void;
}

/** Groups that the store is asked about, or joined, at once: it may take many together. */
const GROUPS_AT_ONCE = 128;

interface Leaving {
  readonly enough: AbortController;
  readonly done: Promise<void>;
}

/** Told when members or leases of its group may have changed. */
export interface Participant {
  readonly ref: GroupRef;
  changed(): void;
  /** Looks which of its leases are still its own; throws if that cannot be learned now. */
  confirm(): Promise<void>;
  /** Leases hold again: go on handing out. */
  resume(): void;
}

export class Membership {
  readonly #options: MembershipOptions;
  readonly #participants = new Map<string, Participant>();
  readonly #leaving = new Map<string, Leaving>();
  readonly #over = new AbortController();
  /** The session was swept away, and is to be begun again. */
  #lost = false;
  /** Groups that are to be joined again since it was. */
  readonly #unjoined = new Set<Participant>();
  #session: Session | null = null;
  #opening: Promise<string> | null = null;
  #version = 0;
  #living = "";
  #cancelBeat: CancelTimer | null = null;
  #cancelLook: CancelTimer | null = null;
  #looking = false;
  /** Groups that are to look, as somebody said. */
  readonly #changed = new Set<Participant>();
  #telling = false;
  /** Until then, on the steady clock, the session lasts. */
  #aliveUntilMs = 0;
  /** As long as the session lasts without a break, nobody can have taken a partition from this bus that it holds. */
  #isConfirmed = false;
  #confirming = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** This bus's name among members; begins the session if there is none. */
  member(): Promise<string> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  add(participant: Participant): void {
    this.#participants.set(groupKey(participant.ref), participant);
    this.#scheduleLook();
  }

  remove(participant: Participant): void {
    this.#participants.delete(groupKey(participant.ref));
    this.#unjoined.delete(participant);
    this.#changed.delete(participant);
  }

  /**
   * Takes this bus out of a group by `attempt`, again and again until it works, the bus closes, or the group is wanted
   * again: a member that nobody serves would hold up its share of the partitions.
   */
  leave(ref: GroupRef, attempt: () => Promise<void>): Promise<void> {
    const enough = new AbortController();
    const done = this.#insist(attempt, enough.signal).finally(() => this.#leaving.delete(groupKey(ref)));
    this.#leaving.set(groupKey(ref), { enough, done });
    return done;
  }

  /** Ends an unfinished leave; to be called before a group is joined. */
  async stay(ref: GroupRef): Promise<void> {
    const leaving = this.#leaving.get(groupKey(ref));
    leaving?.enough.abort();
    await leaving?.done;
  }

  async #insist(attempt: () => Promise<void>, enough: AbortSignal): Promise<void> {
    const { clock, heartbeatMs, onTrouble } = this.#options;
    while (!enough.aborted && !this.#over.signal.aborted) {
      try {
        await attempt();
        return;
      } catch (error) {
        onTrouble(BusError.from(error, "STORE_UNAVAILABLE"));
        await pause(clock, heartbeatMs / 2, AbortSignal.any([enough, this.#over.signal]));
      }
    }
  }

  /**
   * False once the leases may have run out without our knowing, as after a long freeze: whatever is handed out then may
   * be another's already. Nothing depends on it but the number of needless deliveries; what counts is the epoch (P7).
   */
  holds(): boolean {
    if (this.#isConfirmed && this.#isAlive()) return true;
    this.#isConfirmed = false;
    if (!this.#confirming && this.#session !== null) void this.#confirm(this.#session);
    return false;
  }

  #isAlive(): boolean {
    return this.#options.clock.steady() < this.#aliveUntilMs;
  }

  /**
   * Renews the session, then lets each group find out what it lost meanwhile; only then do leases hold again. With thousands of
   * groups that takes longer than a lease: beats go on, and what they kept alive counts.
   */
  async #confirm(session: Session): Promise<void> {
    this.#confirming = true;
    await this.#insist(async () => {
      this.#aliveUntilMs = await this.#renew(session);
      if (this.#lost) await this.#revive(session);
      await this.#joinAgain(session);
      await this.#each((participant) => participant.confirm());
      if (this.#lost || !this.#isAlive())
        throw new BusError(
          "STORE_UNAVAILABLE",
          "the session ran out before it was known which leases are left",
        );
      this.#isConfirmed = true;
    }, this.#over.signal);
    this.#confirming = false;
    await this.#each((participant) => participant.resume());
  }

  /** In turns: among thousands of groups, beats and everything else would wait until all are done. */
  async #each(work: (participant: Participant) => unknown): Promise<void> {
    await mapAtMost(GROUPS_AT_ONCE, [...this.#participants.values()], async (participant) => {
      await nextTurn();
      if (!this.#over.signal.aborted) await work(participant);
    });
  }

  /** Returns until when the session lasts, if it lasts. */
  async #renew({ member }: Session): Promise<number> {
    const { groups, clock, leaseMs } = this.#options;
    const startMs = clock.steady();
    if (!(await groups.beat(member, { ttlMs: leaseMs, nowMs: clock.now() }))) this.#lost = true;
    return startMs + leaseMs;
  }

  /** A signal of the store. */
  groupChanged(ref: GroupRef): void {
    const participant = this.#participants.get(groupKey(ref));
    if (participant === undefined) return;
    this.#changed.add(participant);
    if (this.#telling) return;
    this.#telling = true;
    void this.#tellChanged();
  }

  /** So many in a turn, as a member that leaves thousands of groups is news in each. What is told again meanwhile is told once. */
  async #tellChanged(): Promise<void> {
    while (this.#changed.size > 0) {
      let told = 0;
      for (const participant of this.#changed) {
        if (++told > GROUPS_AT_ONCE) break;
        this.#changed.delete(participant);
        participant.changed();
      }
      await nextTurn();
    }
    this.#telling = false;
  }

  /** Looks at once, rather than at the next turn. */
  lookNow(): void {
    if (this.#session !== null) void this.#look();
  }

  async close(): Promise<void> {
    this.#over.abort();
    this.#cancelBeat?.();
    this.#cancelLook?.();
    if (this.#opening === null) return;
    try {
      await this.#options.groups.close(await this.#opening, { nowMs: this.#options.clock.now() });
    } catch {
      // The session runs out by itself.
    }
  }

  async #open(): Promise<string> {
    const { groups, clock, leaseMs } = this.#options;
    const session: Session = {
      member: this.#options.member ?? `${hostname()}:${process.pid}:${clock.newId().slice(-12)}`,
      host: hostname(),
      pid: process.pid,
      processStart: String(Math.round(performance.timeOrigin)),
    };
    const startMs = clock.steady();
    try {
      await groups.open(session, { ttlMs: leaseMs, nowMs: clock.now() });
    } catch (error) {
      this.#opening = null;
      throw error;
    }
    this.#aliveUntilMs = startMs + leaseMs;
    this.#isConfirmed = true;
    this.#session = session;
    this.#scheduleBeat();
    return session.member;
  }

  #scheduleBeat(): void {
    if (this.#over.signal.aborted) return;
    this.#cancelBeat = this.#options.clock.setTimer(this.#options.heartbeatMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    try {
      // Once it ran out, a beat alone does not bring leases back: somebody may have taken them.
      if (this.holds() || this.#isAlive()) {
        const untilMs = await this.#renew(this.#session as Session);
        if (this.#lost) this.#isConfirmed = false;
        else if (this.#isAlive()) this.#aliveUntilMs = Math.max(this.#aliveUntilMs, untilMs);
        this.holds();
      }
    } catch (error) {
      this.#options.onTrouble(BusError.from(error, "STORE_UNAVAILABLE"));
    }
    this.#scheduleBeat();
  }

  /** The session was swept away while this process slept: the same member begins again. From then on beats keep it alive. */
  async #revive(session: Session): Promise<void> {
    const { groups, clock, leaseMs } = this.#options;
    const startMs = clock.steady();
    await groups.open(session, { ttlMs: leaseMs, nowMs: clock.now() });
    this.#aliveUntilMs = startMs + leaseMs;
    this.#lost = false;
    for (const participant of this.#participants.values()) this.#unjoined.add(participant);
  }

  /** Those that were joined stay so, whatever becomes of the others. */
  async #joinAgain({ member }: Session): Promise<void> {
    await mapAtMost(GROUPS_AT_ONCE, [...this.#unjoined], async (participant) => {
      // It may have left since.
      if (!this.#unjoined.has(participant)) return;
      await this.#options.groups.join(participant.ref, member);
      this.#unjoined.delete(participant);
    });
  }

  #scheduleLook(): void {
    if (this.#cancelLook !== null || this.#over.signal.aborted || this.#participants.size === 0) return;
    this.#cancelLook = this.#options.clock.setTimer(this.#options.lookMs, () => {
      this.#cancelLook = null;
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const { groups, clock, onTrouble } = this.#options;
    try {
      const changes = await groups.changes(this.#version);
      this.#version = changes.version;
      for (const ref of changes.groups) this.groupChanged(ref);
      // Sessions that ran out are nobody's change: whoever looks has to see that they are gone.
      const living = (await groups.sessions({ nowMs: clock.now() }))
        .map((session) => session.member)
        .join(" ");
      if (living !== this.#living) {
        this.#living = living;
        await this.#each((participant) => participant.changed());
      }
    } catch (error) {
      onTrouble(BusError.from(error, "STORE_UNAVAILABLE"));
      await pause(clock, this.#options.lookMs, this.#over.signal);
    }
    this.#looking = false;
    this.#scheduleLook();
  }
}
