import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventDraft } from "../../../model/event.js";
import { JsonBody } from "../../../model/json.js";
import { idFields, idFieldsLeft, rangesOf } from "./ids.js";

function draftOf(id: string, freshId = true): EventDraft {
  return { id, ts: 0, key: undefined, meta: undefined, body: JsonBody.ofText("1"), freshId };
}

/** A UUIDv7 of this time. */
function madeAt(timeMs: number, rest = 0): string {
  const hex = timeMs.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${rest.toString(16).padStart(3, "0")}-8000-000000000000`;
}

/** Whether a batch with this range fits a condition, as the server judges. */
function fits({ idFrom, idTo }: { idFrom?: string; idTo?: string }, condition: object): boolean {
  const { idTo: to, idFrom: from } = condition as {
    idTo: { $gte: string; $lt: string };
    idFrom: { $lte: string };
  };
  if (idFrom === undefined || idTo === undefined) return false;
  return idTo >= to.$gte && idTo < to.$lt && idFrom <= from.$lte;
}

describe("ids of a batch", () => {
  it("those that a bus made are told by the lowest and the highest, chosen ones one by one", () => {
    const made = [madeAt(5, 2), madeAt(5, 1), madeAt(9)];
    const drafts = [...made.map((id) => draftOf(id)), draftOf("mine", false), draftOf(madeAt(7), false)];
    expect(idFields(drafts, false)).toEqual({
      ids: ["mine", madeAt(7)],
      idFrom: madeAt(5, 1),
      idTo: madeAt(9),
    });
    expect(
      idFields(
        made.map((id) => draftOf(id)),
        true,
      ),
    ).toEqual({ idFrom: madeAt(5, 1), idTo: madeAt(9) });
  });

  it("made ids of another form, or too far apart, count as chosen", () => {
    const other = ["not-a-uuid", madeAt(0xabcdef).toUpperCase(), "00000000-0000-4000-8000-000000000000"];
    expect(
      idFields(
        other.map((id) => draftOf(id)),
        false,
      ),
    ).toEqual({ ids: other });
    const apart = [madeAt(1), madeAt(1 + 2_001)];
    expect(
      idFields(
        apart.map((id) => draftOf(id)),
        true,
      ),
    ).toEqual({ ids: apart });
  });

  it("of a batch that lost events, chosen ids go with them, and the range stays", () => {
    const before = { ids: ["a", "b"], idFrom: madeAt(1), idTo: madeAt(9) };
    expect(idFieldsLeft(before, [{ id: "b" }, { id: madeAt(5) }])).toEqual({ ...before, ids: ["b"] });
    expect(idFieldsLeft({ ids: ["a"] }, [])).toEqual({});
  });

  it("P3: a search for some ids always comes upon the batch of each made one", () => {
    const times = fc.array(fc.nat({ max: 20_000 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(times, times, fc.nat({ max: 29 }), (inBatch, others, nth) => {
        const ids = inBatch.map((time, i) => madeAt(1_000_000 + time, i));
        const id = ids[nth % ids.length] as string;
        const fields = idFields(
          ids.map((one) => draftOf(one)),
          true,
        );
        const asked = [id, ...others.map((time, i) => madeAt(1_000_000 + time, 100 + i))];
        const found = rangesOf(asked).some((condition) => fits(fields, condition));
        expect(found || fields.ids?.includes(id)).toBe(true);
      }),
    );
  });

  it("ids that cannot have been made are not searched for by time", () => {
    expect(rangesOf(["x", "00000000-0000-4000-8000-000000000000"])).toEqual([]);
  });

  it("ids of one moment are searched for together, those of different times apart", () => {
    expect(rangesOf([madeAt(5_000), madeAt(1_000), madeAt(1_001), madeAt(90_000)])).toHaveLength(3);
  });
});
