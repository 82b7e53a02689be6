/** What the writing thread knows of each partition: read once, kept while nobody else writes. */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import type { Connection } from "./sqlite.js";

export interface PartitionState {
  readonly part: number;
  head: Seq;
  low: Seq;
  events: number;
  bytes: number;
  /** Newest ts among the present events, or null if there are none. */
  runTs: number | null;
  /** First and last seq of a damaged batch. */
  damage: readonly [Seq, Seq] | null;
}

type Columns = [
  head: number,
  low: number,
  events: number,
  bytes: number,
  runTs: number | null,
  damage: string | null,
];

export class Partitions {
  readonly #connection: Connection;
  readonly #known = new Map<number, PartitionState>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get(part: number): PartitionState {
    let state = this.#known.get(part);
    if (state === undefined) {
      state = this.#load(part);
      this.#known.set(part, state);
    }
    return state;
  }

  save({ part, head, low, events, bytes, runTs, damage }: PartitionState): void {
    this.#connection
      .sql("UPDATE part SET head = ?, low = ?, events = ?, bytes = ?, run_ts = ?, damage = ? WHERE id = ?")
      .run(head, low, events, bytes, runTs, damage === null ? null : JSON.stringify(damage), part);
  }

  forget(): void {
    this.#known.clear();
  }

  #load(part: number): PartitionState {
    const row = this.#connection
      .sql("SELECT head, low, events, bytes, run_ts, damage FROM part WHERE id = ?")
      .get<Columns>(part);
    if (row === undefined) throw new BusError("STORE_DAMAGED", `partition number ${part} has no state`);
    const [head, low, events, bytes, runTs, damage] = row;
    return { part, head, low, events, bytes, runTs, damage: damage === null ? null : JSON.parse(damage) };
  }
}
