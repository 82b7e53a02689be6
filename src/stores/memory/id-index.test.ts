import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoredEvent } from "../../model/event.js";
import { JsonBody } from "../../model/json.js";
import { IdIndex } from "./id-index.js";
import { type Kept, PartitionLog } from "./partition-log.js";

const BODY = JsonBody.ofText("1");
const BODIES = [BODY, JsonBody.ofFrozen(1, 1)] as const;

/** Two partitions with one index over them. */
class Setup {
  readonly index = new IdIndex();
  readonly logs = [new PartitionLog(), new PartitionLog()] as const;
  readonly present = new Map<string, Kept>();
  #made = 0;

  append(partition: 0 | 1, fresh: boolean): string {
    const body = BODIES[this.#made % 2] as JsonBody;
    const id = `id-${this.#made++}`;
    const log = this.logs[partition];
    const parts = { id, ts: 0, key: undefined, meta: undefined, body };
    if (!fresh) expect(this.index.get(id)).toBeUndefined();
    const kept = log.push(new StoredEvent("t", partition, log.head + 1, parts));
    this.index.add(log, kept, fresh);
    this.present.set(id, kept);
    return id;
  }

  drop(partition: 0 | 1, events: readonly Kept[]): void {
    this.index.forget(this.logs[partition], events);
    for (const event of events) this.present.delete(event.id);
  }

  ask(): void {
    expect(this.index.size).toBe(this.present.size);
    const known = Array.from({ length: this.#made }, (_, i) => this.index.get(`id-${i}`)?.id);
    expect(known.filter((id) => id !== undefined)).toEqual([...this.present.keys()]);
    expect(this.index.size).toBe(this.present.size);
  }
}

describe("IdIndex", () => {
  it("P3: knows exactly the events that are present, however they came, went and were asked for", () => {
    const partition = fc.constantFrom(0 as const, 1 as const);
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.tuple(fc.constant("append" as const), partition, fc.boolean()) },
      {
        weight: 1,
        arbitrary: fc.tuple(fc.constant("trim" as const), partition, fc.integer({ min: 0, max: 40 })),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(fc.constant("remove" as const), partition, fc.integer({ min: 1, max: 40 })),
      },
      { weight: 1, arbitrary: fc.tuple(fc.constant("ask" as const), partition, fc.constant(0)) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const setup = new Setup();
        for (const [op, where, what] of steps) {
          const log = setup.logs[where];
          if (op === "append") setup.append(where, what);
          else if (op === "trim") setup.drop(where, log.trim(what));
          else if (op === "remove") setup.drop(where, log.remove([what, what + 2]));
          else setup.ask();
        }
        setup.ask();
      }),
      { numRuns: 200 },
    );
  });

  it("P13: lets no more than a quarter of a million wait, and still knows every one", () => {
    const { index, logs } = new Setup();
    const count = 300_000;
    for (let n = 1; n <= count; n++) {
      const log = logs[n % 2 === 0 ? 0 : 1];
      const parts = { id: `id-${n}`, ts: 0, key: undefined, meta: undefined, body: BODY };
      const event = new StoredEvent("t", n % 2, log.head + 1, parts);
      index.add(log, log.push(event), true);
    }
    expect(index.size).toBe(count);
    index.forget(logs[0], logs[0].trim(count));
    expect(index.size).toBe(count / 2);
    expect([index.get("id-1")?.seq, index.get("id-2"), index.get(`id-${count - 1}`)?.seq]).toEqual([
      1,
      undefined,
      count / 2,
    ]);
    index.forget(logs[1], logs[1].trim(count));
    expect(index.size).toBe(0);
  });
});
