/**
 * The outbox in memory. Unsent entries stand in order of addition, so one walk from the front finds what may be
 * claimed: the first entry of a key that may not go blocks the ones behind it (P10).
 */
import { callSafely } from "../../model/call-safely.js";
import type { Clock } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import { canonicalText, jsonBody } from "../../model/json.js";
import type {
  ClaimOptions,
  OutboxClaim,
  OutboxEntry,
  OutboxFailure,
  OutboxRow,
  OutboxStats,
  OutboxStatus,
  OutboxStore,
} from "../../ports/outbox.js";
import {
  checkAddOptions,
  checkEntry,
  claimOptions,
  failureOf,
  retryAtMs,
  SET_BACK_MS,
} from "../../ports/outbox-arguments.js";
import type { Lifetime } from "./lifetime.js";

interface Row {
  readonly entry: OutboxEntry;
  readonly order: number;
  readonly addedMs: number;
  status: OutboxStatus;
  failures: number;
  error: string | undefined;
  /** Present while claimed; a new one for each claim (P6). */
  token: string | undefined;
  /** End of the lease while claimed, earliest next try while pending, time of sending once sent. */
  atMs: number;
  /** How long the lease or the wait is. */
  lengthMs: number;
}

export class MemoryOutbox implements OutboxStore {
  readonly #lifetime: Lifetime;
  readonly #clock: Clock;
  readonly #unsent = new Map<string, Row>();
  readonly #sent = new Map<string, Row>();
  readonly #wakers = new Set<() => void>();
  #added = 0;
  #claims = 0;

  constructor(lifetime: Lifetime, clock: Clock) {
    this.#lifetime = lifetime;
    this.#clock = clock;
  }

  async add(entry: OutboxEntry, o: { nowMs?: number } = {}): Promise<void> {
    this.#lifetime.check();
    checkEntry(entry);
    checkAddOptions(o);
    const copy = copyOf(entry);
    const known = this.#unsent.get(entry.id) ?? this.#sent.get(entry.id);
    if (known !== undefined) {
      if (saysTheSame(known.entry, copy)) return;
      throw new BusError("ID_CONFLICT", `the outbox holds another entry with id "${entry.id}"`, {
        details: { id: entry.id },
      });
    }
    this.#unsent.set(entry.id, {
      entry: copy,
      order: this.#added++,
      addedMs: o.nowMs ?? this.#clock.now(),
      status: "pending",
      failures: 0,
      error: undefined,
      token: undefined,
      atMs: 0,
      lengthMs: 0,
    });
    this.#wake();
  }

  async claimBatch(count: number, given?: Partial<ClaimOptions>): Promise<readonly OutboxClaim[]> {
    this.#lifetime.check();
    const o = claimOptions(count, { nowMs: this.#clock.now(), ...given });
    const claims: OutboxClaim[] = [];
    const blocked = new Set<string>();
    for (const row of this.#unsent.values()) {
      if (claims.length >= count) break;
      const { key } = row.entry;
      if (key !== undefined && blocked.has(key)) continue;
      if (row.status === "pending" && isOver(row, o.nowMs)) claims.push(this.#claim(row, o));
      else if (key !== undefined) blocked.add(key);
    }
    return claims;
  }

  async markSent(id: string, token: string, o: { nowMs?: number } = {}): Promise<boolean> {
    this.#lifetime.check();
    const row = this.#claimed(id, token);
    if (row === undefined) return false;
    row.status = "sent";
    row.token = undefined;
    row.atMs = o.nowMs ?? this.#clock.now();
    this.#unsent.delete(id);
    this.#sent.set(id, row);
    return true;
  }

  async markError(id: string, token: string, given: string | OutboxFailure): Promise<boolean> {
    this.#lifetime.check();
    const o = failureOf(typeof given === "string" ? given : { nowMs: this.#clock.now(), ...given });
    const row = this.#claimed(id, token);
    if (row === undefined) return false;
    row.status = o.dead ? "dead" : "pending";
    if (o.counts) {
      row.failures++;
      row.error = o.error;
    }
    row.token = undefined;
    row.atMs = retryAtMs(o);
    row.lengthMs = o.retryAfterMs;
    return true;
  }

  async requeueExpired(nowMs = this.#clock.now()): Promise<number> {
    this.#lifetime.check();
    const expired = [...this.#unsent.values()].filter((r) => r.status === "claimed" && isOver(r, nowMs));
    for (const row of expired) toPending(row);
    return expired.length;
  }

  async requeueDead(ids?: readonly string[]): Promise<number> {
    this.#lifetime.check();
    const dead = this.#dead(ids);
    for (const row of dead) {
      toPending(row);
      row.failures = 0;
      row.error = undefined;
    }
    if (dead.length > 0) this.#wake();
    return dead.length;
  }

  async discardDead(ids: readonly string[]): Promise<number> {
    this.#lifetime.check();
    const dead = this.#dead(ids);
    for (const row of dead) this.#unsent.delete(row.entry.id);
    if (dead.length > 0) this.#wake();
    return dead.length;
  }

  async purge(sentBeforeMs: number): Promise<number> {
    this.#lifetime.check();
    const old = [...this.#sent.values()].filter((row) => row.atMs < sentBeforeMs);
    for (const row of old) this.#sent.delete(row.entry.id);
    return old.length;
  }

  async stats(): Promise<OutboxStats> {
    this.#lifetime.check();
    const counts = { pending: 0, claimed: 0, sent: this.#sent.size, dead: 0 };
    let oldestMs: number | null = null;
    for (const row of this.#unsent.values()) {
      counts[row.status]++;
      oldestMs = Math.min(oldestMs ?? row.addedMs, row.addedMs);
    }
    return { ...counts, oldestMs };
  }

  async list(o: { status: OutboxStatus; limit?: number }): Promise<readonly OutboxRow[]> {
    this.#lifetime.check();
    const rows = [...(o.status === "sent" ? this.#sent : this.#unsent).values()];
    return rows
      .filter((row) => row.status === o.status)
      .sort((a, b) => a.order - b.order)
      .slice(0, o.limit ?? 100)
      .map(rowOf);
  }

  watch(wake: () => void): () => void {
    this.#lifetime.check();
    const own = (): void => wake();
    this.#wakers.add(own);
    return () => void this.#wakers.delete(own);
  }

  stopWatching(): void {
    this.#wakers.clear();
  }

  #claim(row: Row, o: ClaimOptions): OutboxClaim {
    const token = `${o.owner}/${++this.#claims}`;
    row.status = "claimed";
    row.token = token;
    row.atMs = o.nowMs + o.leaseMs;
    row.lengthMs = o.leaseMs;
    const { entry, failures, error } = row;
    return { ...entry, token, failures, ...(error !== undefined && { error }) };
  }

  #claimed(id: string, token: string): Row | undefined {
    const row = this.#unsent.get(id);
    return row?.status === "claimed" && row.token === token ? row : undefined;
  }

  #dead(ids: readonly string[] | undefined): Row[] {
    const wanted = ids === undefined ? undefined : new Set(ids);
    return [...this.#unsent.values()].filter(
      (row) => row.status === "dead" && (wanted === undefined || wanted.has(row.entry.id)),
    );
  }

  /** In a microtask, so that the one who adds is done before anybody claims. */
  #wake(): void {
    if (this.#wakers.size === 0) return;
    queueMicrotask(() => {
      for (const wake of [...this.#wakers]) callSafely(wake);
    });
  }
}

/** Its lease or its wait; also if it began later than now, on a clock that was set back since. */
function isOver({ atMs, lengthMs }: Row, nowMs: number): boolean {
  return atMs <= nowMs || atMs - lengthMs > nowMs + SET_BACK_MS;
}

function toPending(row: Row): void {
  row.status = "pending";
  row.token = undefined;
  row.atMs = 0;
}

/** Topic, key and payload count, as they do in the log (P3). */
function saysTheSame(a: OutboxEntry, b: OutboxEntry): boolean {
  return a.topic === b.topic && a.key === b.key && canonicalText(a.payload) === canonicalText(b.payload);
}

function rowOf(row: Row): OutboxRow {
  const { entry, status, failures, error, addedMs } = row;
  return { ...entry, status, failures, addedMs, ...(error === undefined ? undefined : { error }) };
}

function copyOf(entry: OutboxEntry): OutboxEntry {
  const { payload, ...rest } = entry;
  const copy = jsonBody(rest).value as Omit<OutboxEntry, "payload">;
  return Object.freeze({ ...copy, payload: jsonBody(payload).value });
}
