import fc from "fast-check";
import { v7, validate, version } from "uuid";
import { describe, expect, it } from "vitest";
import { IdSource, idTimeMs } from "./ids.js";

const zeros = (bytes: Uint8Array): void => void bytes.fill(0);
const ones = (bytes: Uint8Array): void => void bytes.fill(255);

describe("IdSource", () => {
  it("makes UUIDv7 that carry the time", () => {
    const id = new IdSource(ones).next(1_700_000_000_123);
    expect([validate(id), version(id), idTimeMs(id)]).toEqual([true, 7, 1_700_000_000_123]);
  });

  it.each([
    ["zeros", zeros],
    ["ones", ones],
  ])("grows within a millisecond, and when the clock steps back, with random %s", (_, fill) => {
    const times = [100, 100, 100, 101, 50, 50, 101, 102, 1, 200];
    const source = new IdSource(fill);
    const ids = times.map((ms) => source.next(ms));
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.map((id) => idTimeMs(id))).toEqual([100, 100, 100, 101, 101, 101, 101, 102, 102, 200]);
  });

  it("writes time, counter and chance where a UUIDv7 has them", () => {
    const random = fc.uint8Array({ minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), random, (msecs, chance) => {
        const source = new IdSource((bytes) => bytes.set(chance));
        const [high = 0, middle = 0, low = 0] = chance;
        const all = Uint8Array.from([0, 0, 0, 0, 0, 0, ...chance]);
        const seq = ((high << 23) | (middle << 16) | (low << 8)) >>> 0;
        expect(source.next(msecs)).toBe(v7({ msecs, seq, random: all }));
        expect(source.next(msecs)).toBe(v7({ msecs, seq: seq + 1, random: all }));
      }),
    );
  });

  it("asks for the chance of several ids at a time, and gives each its own", () => {
    let asked = 0;
    const source = new IdSource((bytes) => {
      asked++;
      for (let i = 0; i < bytes.length; i++) bytes[i] = i;
    }, 3);
    const ends = Array.from({ length: 6 }, () => source.next(5).slice(-10));
    expect(ends.slice(0, 3)).toEqual(["0506070809", "0f10111213", "191a1b1c1d"]);
    expect(ends.slice(3)).toEqual(ends.slice(0, 3));
    expect(asked).toBe(2);
  });

  it("grows through a hundred thousand ids of one millisecond", () => {
    const source = new IdSource(ones);
    let last = "";
    for (let i = 0; i < 100_000; i++) {
      const id = source.next(7);
      if (id <= last) throw new Error(`${id} after ${last}`);
      last = id;
    }
    expect(idTimeMs(last)).toBe(7);
  });
});

describe("idTimeMs", () => {
  it.each([
    "",
    "x",
    "not-a-uuid",
    "36a99ed9-72b7-5742-94d9-60724c6c9f3c",
    "zzzzzzzz-zzzz-7zzz-8zzz-zzzzzzzzzzzz",
    "7".repeat(36),
  ])("knows no time of %j", (id) => {
    expect(idTimeMs(id)).toBeUndefined();
  });
});
