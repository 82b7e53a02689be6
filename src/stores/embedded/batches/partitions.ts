/**
 * What the writing thread knows of each partition: read once, kept while nobody else writes. What changes is written by
 * `flush`, together, before its transaction ends.
 */
import { BusError } from "../../../model/errors.js";
import type { Seq } from "../../../model/event.js";
import { type Connection, rowsOf, type SqlValue } from "../sqlite.js";

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

/** Whether all from its low to its head must be there: nothing but the oldest was ever removed. */
export function isDense({ head, low, events }: Pick<PartitionState, "head" | "low" | "events">): boolean {
  return events === head - low + 1;
}

type Columns = [
  head: number,
  low: number,
  events: number,
  bytes: number,
  runTs: number | null,
  damage: string | null,
];

/** States written by one statement. */
const TOGETHER = 32;
const REPLACE = "INSERT OR REPLACE INTO part (id, head, low, events, bytes, run_ts, damage) VALUES";
const ONE_ROW = "(?, ?, ?, ?, ?, ?, ?)";
const REPLACE_ONE = `${REPLACE} ${ONE_ROW}`;
const REPLACE_MANY = `${REPLACE} ${rowsOf(TOGETHER, ONE_ROW)}`;

export class Partitions {
  readonly #connection: Connection;
  readonly #known = new Map<number, PartitionState>();
  readonly #changed = new Set<PartitionState>();

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

  /** Will be written by the next `flush`. */
  save(state: PartitionState): void {
    this.#changed.add(state);
  }

  flush(): void {
    if (this.#changed.size === 0) return;
    const states = [...this.#changed];
    this.#changed.clear();
    let at = 0;
    for (; at + TOGETHER <= states.length; at += TOGETHER)
      this.#connection.sql(REPLACE_MANY).run(...columnsOf(states, at, at + TOGETHER));
    for (; at < states.length; at++) this.#connection.sql(REPLACE_ONE).run(...columnsOf(states, at, at + 1));
  }

  /** Also what was not written yet. */
  forget(): void {
    this.#known.clear();
    this.#changed.clear();
  }

  #load(part: number): PartitionState {
    const row = this.#connection
      .sql("SELECT head, low, events, bytes, run_ts, damage FROM part WHERE id = ?")
      .get<Columns>(part);
    if (row === undefined) throw new BusError("STORE_DAMAGED", `partition number ${part} has no state`);
    const [head, low, events, bytes, runTs, damage] = row;
    return { part, head, low, events, bytes, runTs, damage: readDamage(damage) };
  }
}

export function readDamage(stored: string | null): PartitionState["damage"] {
  return stored === null ? null : JSON.parse(stored);
}

function columnsOf(states: readonly PartitionState[], from: number, to: number): SqlValue[] {
  const columns: SqlValue[] = [];
  for (let i = from; i < to; i++) {
    const { part, head, low, events, bytes, runTs, damage } = states[i] as PartitionState;
    columns.push(part, head, low, events, bytes, runTs, damage === null ? null : JSON.stringify(damage));
  }
  return columns;
}
