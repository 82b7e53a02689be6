/** A store: the parts a bus stands on, and what the driver says it can do. */
import type { Seq } from "../model/event.js";
import type { Documents } from "./documents.js";
import type { GroupRef, Groups } from "./groups.js";
import type { Log } from "./log.js";
import type { OutboxStore } from "./outbox.js";
import type { Registry } from "./registry.js";

/** What a driver says of itself. Where it lacks something, whoever needs that is refused with UNSUPPORTED. */
export interface Capabilities {
  /** Acked writes survive the end of the process, and of the machine (P1). */
  readonly durable: boolean;
  /** Several processes may open it at once. */
  readonly sharedByProcesses: boolean;
  /** `documents.transact` is atomic. */
  readonly transactions: boolean;
  /** A transaction can be entered with the engine's own means (`Unit.within`). Absent: it cannot. */
  readonly nativeTransactions?: boolean;
  /**
   * Units take effect in the order in which `transact` was called: one may be sent behind another whose cursor it expects,
   * before that is answered. Nothing rests on it but speed: whoever comes too early is refused. Absent: they may not.
   */
  readonly transactsInOrder?: boolean;
  /** Can tell about changes of foreign collections (P12). */
  readonly changeFeed: boolean;
  /** Partitions of a topic that does not say. */
  readonly defaultPartitions: number;
}

/** What a driver tells those who wait. A hint: may come twice, late, or for nothing, never instead of a read. */
export type Signal =
  | { readonly type: "appended"; readonly topic: string; readonly partition: number; readonly head: Seq }
  | { readonly type: "group"; readonly ref: GroupRef }
  /** It was defined, or removed. */
  | { readonly type: "topic"; readonly topic: string; readonly removed?: boolean }
  /** Something, anything, may have changed: look again. `butTopics`: those that came into being are told by name. */
  | { readonly type: "any"; readonly butTopics?: true };

/** Everything durable goes through this: what a driver implements. See docs/writing-a-store.md. */
export interface Store {
  /** For people: "memory", "embedded /var/lib/app/bus.db", "mongodb rs0/app". */
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly log: Log;
  readonly groups: Groups;
  readonly documents: Documents;
  readonly outbox: OutboxStore;
  readonly registry: Registry;

  /**
   * Makes it ready; called before anything else, and again to go on after a close (a store that is not durable keeps
   * its data for that as long as the object lives). Throws a BusError that says what to do.
   */
  open(): Promise<void>;
  /** Signals of every process that shares the store, within tens of milliseconds. Absent: the bus polls. */
  watch?(listener: (signal: Signal) => void): () => void;
  /** Waits for what is under way, then frees everything. Calls after it fail with CLOSED. Twice is harmless. */
  close(): Promise<void>;
}
