import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { draft, oneEach, SheetPlace } from "../../../../test/support/sheet-place.js";
import { ID_BYTES, uuidTimeMs, writeUuid } from "../../id-key.js";
import type { AppendAnswer } from "../protocol.js";
import { locateTimed, type TimedId } from "./timed-lookup.js";

let place: SheetPlace;
beforeEach(() => {
  place = new SheetPlace();
});
afterEach(() => place.close());

const LONG_AGO_MS = 1_700_000_000_000;

/** A UUIDv7 of a time. */
function idAt(timeMs: number, n = 0): string {
  const time = timeMs.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${n.toString(16).padStart(12, "0")}`;
}

function append(ids: readonly string[], partition = 0): AppendAnswer {
  const drafts = ids.map((id, n) => draft(n, { id }));
  return place.group(0, [place.append(partition, drafts)])[0] as AppendAnswer;
}

/** The seqs of those that are in the log, in the order they are asked for. */
function seqsOf(ids: readonly string[]): (number | undefined)[] {
  const wanted = ids.map((id, index): TimedId => {
    const bytes = Buffer.alloc(ID_BYTES);
    writeUuid(id, bytes, 0);
    return { index, ids: bytes, at: 0, timeMs: uuidTimeMs(bytes, 0) };
  });
  const places = place.connection.snapshot(() => locateTimed(place.connection, place.batches, wanted));
  return ids.map((_, index) => places.get(index)?.seq);
}

describe("ids that carry their time, looked for together", () => {
  it("P3: in spans: neighbours, others of the same millisecond, and ones that are far apart among many rows", () => {
    const nowMs = Date.now();
    const ids = Array.from({ length: 300 }, (_, n) => idAt(nowMs - 90_000 + 300 * n, n));
    for (let n = 0; n < ids.length; n += 2) append(ids.slice(n, n + 2));
    expect(place.count("id_index")).toBeLessThan(ids.length);
    expect(seqsOf(ids)).toEqual(ids.map((_, n) => n + 1));
    expect(seqsOf(ids.toReversed())).toEqual(ids.map((_, n) => ids.length - n));
    const none = idAt(nowMs - 90_000 + 300 * 150, 7_777);
    expect(seqsOf([ids[0] as string, none, ids[299] as string])).toEqual([1, undefined, 300]);
  });

  it("P3: by entries, of which there may be many more in their time than ids that are looked for", () => {
    const ids = Array.from({ length: 300 }, (_, n) => idAt(LONG_AGO_MS + 1_000 * n, n));
    append(ids);
    expect(place.count("id_index")).toBe(300);
    expect(seqsOf([ids[299] as string, ids[0] as string])).toEqual([300, 1]);
    expect(seqsOf([idAt(0), idAt(LONG_AGO_MS, 5), idAt(2 ** 47)])).toEqual([undefined, undefined, undefined]);
    const answer = append(ids.map((id, n) => (n % 3 === 0 ? idAt(LONG_AGO_MS + 1_000 * n, 999) : id)));
    expect(answer.duplicates?.map(({ index }) => index)).toEqual(
      ids.map((_, n) => n).filter((n) => n % 3 !== 0),
    );
  });

  it("P3: in sheets, and where they stand when these are filed", () => {
    const drafts = [0, 1, 2].flatMap((n) => oneEach(place, 0, n));
    const seqs = drafts.map((_, n) => 1 + Math.floor(n / 10));
    const ids = drafts.map(({ id }) => id);
    expect(place.count("sheet")).toBeGreaterThan(0);
    expect(seqsOf(ids)).toEqual(seqs);
    for (let slice = 0; slice < 100; slice++) {
      place.engine(0).file(1);
      expect(seqsOf(ids)).toEqual(seqs);
    }
    expect(place.count("sheet")).toBe(0);
    expect(place.count("filed_id")).toBe(ids.length);
  });

  it("P3: the same id twice in a request is one event, whether it is in the log or not", () => {
    const [known, fresh] = [idAt(LONG_AGO_MS, 1), idAt(LONG_AGO_MS, 2)];
    append([known]);
    const answer = append([fresh, known, fresh, known]);
    expect(answer.duplicates?.map(({ index }) => index)).toEqual([1, 2, 3]);
    expect(seqsOf([known, fresh])).toEqual([1, 2]);
  });
});
