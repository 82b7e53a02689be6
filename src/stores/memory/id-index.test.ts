import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoredEvent } from "../../model/event.js";
import { JsonBody } from "../../model/json.js";
import { IdIndex } from "./id-index.js";
import { type Kept, PartitionLog } from "./partition-log.js";

const BODY = JsonBody.ofText("1");
const BODIES = [BODY, JsonBody.ofFrozen(1, 1)] as const;

const PARTITIONS = 12;
const idOf = (n: number): string => `id-${String(n).padStart(9, "0")}`;

/** Partitions with one index over them, and what is present in them. */
class Setup {
  readonly index = new IdIndex();
  readonly logs = Array.from({ length: PARTITIONS }, () => new PartitionLog());
  readonly present = new Map<string, Kept>();
  readonly #asked = new Set<string>();
  #made = 0;

  log(partition: number): PartitionLog {
    return this.logs[partition] as PartitionLog;
  }

  /** `ascending`: the id is higher than all before it, else lower. */
  append(partition: number, fresh: boolean, ascending = true): void {
    const n = this.#made++;
    const body = BODIES[n % 2] as JsonBody;
    const id = idOf(ascending ? 500_000_000 + n : 500_000_000 - n);
    const log = this.log(partition);
    const parts = { id, ts: 0, key: undefined, meta: undefined, body };
    if (!fresh && this.index.get(id) !== undefined) throw new Error(`${id} is known already`);
    const kept = log.push(new StoredEvent("t", partition, log.head + 1, parts));
    this.index.add(log, kept, fresh);
    this.present.set(id, kept);
    this.#asked.add(id);
  }

  drop(partition: number, events: readonly Kept[]): void {
    this.index.forget(this.log(partition), events);
    for (const event of events) this.present.delete(event.id);
  }

  ask(): void {
    expect(this.index.size).toBe(this.present.size);
    const known = [...this.#asked].filter((id) => {
      const found = this.index.get(id);
      return found !== undefined && found === this.present.get(id);
    });
    expect(known).toEqual([...this.present.keys()]);
    const between = this.index.get(`${idOf(500_000_000)}-`);
    expect([between, this.index.get("a"), this.index.get("z")]).toEqual([undefined, undefined, undefined]);
    expect(this.index.size).toBe(this.present.size);
  }
}

describe("IdIndex", () => {
  it("P3: knows exactly the events that are present, however they came, went and were asked for", () => {
    const partition = fc.integer({ min: 0, max: PARTITIONS - 1 });
    const few = fc.integer({ min: 1, max: 40 });
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          op: fc.constant("append" as const),
          partition,
          count: fc.constantFrom(1, 2, 30, 300),
          fresh: fc.boolean(),
          ascending: fc.boolean(),
        }),
      },
      { weight: 1, arbitrary: fc.record({ op: fc.constant("trim" as const), partition, seq: few }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant("remove" as const), partition, seq: few }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant("ask" as const) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const setup = new Setup();
        for (const step of steps) {
          if (step.op === "ask") setup.ask();
          else if (step.op === "append")
            for (let i = 0; i < step.count; i++) setup.append(step.partition, step.fresh, step.ascending);
          else if (step.op === "trim") setup.drop(step.partition, setup.log(step.partition).trim(step.seq));
          else setup.drop(step.partition, setup.log(step.partition).remove([step.seq, step.seq + 2]));
        }
        setup.ask();
      }),
      { numRuns: 200 },
    );
  });

  it("P3: an id that is not new to it ends a stretch, and everything around it is still known", () => {
    const setup = new Setup();
    for (const fresh of [true, false, true])
      for (let n = 0; n < (fresh ? 3_000 : 1); n++) setup.append(0, fresh, fresh);
    setup.ask();
    setup.drop(0, setup.log(0).remove([2_999, 3_001, 3_002]));
    setup.ask();
    setup.drop(0, setup.log(0).trim(4_500));
    setup.ask();
    setup.drop(0, setup.log(0).trim(6_001));
    expect(setup.index.size).toBe(0);
  });

  it("P3: with many partitions, questions alone lead to the same answers", () => {
    const setup = new Setup();
    for (let n = 0; n < 2_000 * PARTITIONS; n++) setup.append(n % PARTITIONS, true);
    setup.ask();
    for (let n = 0; n < PARTITIONS; n++) setup.append(n, true);
    setup.ask();
  });
});
