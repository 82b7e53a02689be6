/** The outbox in the store's own file: reads here, writes in the writing thread. */
import { randomUUID } from "node:crypto";
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
import { checkAddOptions, checkEntry, claimOptions, failureOf } from "../../ports/outbox-arguments.js";
import type { Access } from "./access.js";
import { jsonCopy } from "./json-copy.js";
import { OutboxTable } from "./outbox-table.js";
import type { Connection } from "./sqlite.js";

export class EmbeddedOutbox implements OutboxStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async add(entry: OutboxEntry, o: { nowMs?: number } = {}): Promise<void> {
    checkEntry(entry);
    checkAddOptions(o);
    const added = await this.#access.call("outboxAdd", {
      entry: jsonCopy(entry),
      nowMs: o.nowMs ?? Date.now(),
    });
    if (added) this.#access.wake.send({ type: "any", butTopics: true });
  }

  async claimBatch(count: number, o?: Partial<ClaimOptions>): Promise<readonly OutboxClaim[]> {
    const { owner, leaseMs, nowMs } = claimOptions(count, o);
    return this.#access.call("outboxClaim", {
      count,
      claim: `${owner}/${randomUUID()}`,
      owner,
      leaseMs,
      nowMs,
    });
  }

  markSent(id: string, token: string, o: { nowMs?: number } = {}): Promise<boolean> {
    return this.#access.call("outboxSent", { id, token, nowMs: o.nowMs ?? Date.now() });
  }

  async markError(id: string, token: string, o: string | OutboxFailure): Promise<boolean> {
    return this.#access.call("outboxError", { id, token, ...failureOf(o) });
  }

  requeueExpired(nowMs = Date.now()): Promise<number> {
    return this.#access.call("outboxExpire", { nowMs });
  }

  requeueDead(ids?: readonly string[]): Promise<number> {
    return this.#told(this.#access.call("outboxRequeue", { ids: ids === undefined ? undefined : [...ids] }));
  }

  discardDead(ids: readonly string[]): Promise<number> {
    return this.#told(this.#access.call("outboxDiscard", { ids: [...ids] }));
  }

  purge(sentBeforeMs: number): Promise<number> {
    return this.#access.call("outboxPurge", { sentBeforeMs });
  }

  stats(): Promise<OutboxStats> {
    return this.#access.read((connection) => table(connection).stats());
  }

  list({ status, limit = 100 }: { status: OutboxStatus; limit?: number }): Promise<readonly OutboxRow[]> {
    return this.#access.read((connection) => table(connection).list({ status, limit }));
  }

  /** Whatever another process wrote may be an entry: "look again" wakes too. */
  watch(wake: () => void): () => void {
    return this.#access.wake.listen((signal) => {
      if (signal.type === "any") wake();
    });
  }

  async #told(changing: Promise<number>): Promise<number> {
    const changed = await changing;
    if (changed > 0) this.#access.wake.send({ type: "any", butTopics: true });
    return changed;
  }
}

function table(connection: Connection): OutboxTable {
  return new OutboxTable({
    run: (text, values) => connection.sql(text).run(...values),
    all: (text, values) => connection.sql(text).all(...values),
  });
}
