import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AheadDisk } from "./ahead-disk.js";
import { AHEAD_BYTES, newImage } from "./ahead-image.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-disk-"));
  path = join(folder, "ahead");
  writeFileSync(path, new Uint8Array(AHEAD_BYTES));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Whether files of this folder can be written past the cache at all. */
function canBeDirect(): boolean {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_DIRECT));
    return true;
  } catch {
    return false;
  }
}

describe("the file ahead on its device", () => {
  it.each([
    ["past the cache", false],
    ["through the cache", true],
  ])("P1: has after each write what its image has there, and what stood around it: %s", (_, useCache) => {
    const disk = new AheadDisk(path, newImage(), useCache);
    const expected = Buffer.alloc(AHEAD_BYTES);
    const place = fc.record({
      from: fc.oneof(fc.nat(12_000), fc.integer({ min: AHEAD_BYTES - 40_000, max: AHEAD_BYTES - 32_768 })),
      bytes: fc.oneof(fc.integer({ min: 1, max: 900 }), fc.integer({ min: 3_000, max: 32_768 })),
      value: fc.integer({ min: 1, max: 255 }),
    });
    fc.assert(
      fc.property(place, ({ from, bytes, value }) => {
        disk.room(from, bytes).fill(value);
        expected.fill(value, from, from + bytes);
        disk.write(from, bytes);
        expect(readFileSync(path).equals(expected)).toBe(true);
      }),
    );
    disk.close();
    expect(disk.isOpen).toBe(false);
  });

  it("is written past the cache where that can be done, and through it where it is wanted so", () => {
    const [direct, cached] = [new AheadDisk(path, newImage()), new AheadDisk(path, newImage(), true)];
    expect([direct.isDirect, cached.isDirect]).toEqual([canBeDirect(), false]);
    direct.close();
    cached.close();
  });

  it("is written through the cache from memory that does not suit the device", () => {
    // No block of any device is that long.
    const disk = new AheadDisk(path, new SharedArrayBuffer(1_000));
    expect(disk.isDirect).toBe(false);
    disk.room(0, 10).fill(1);
    disk.write(0, 10);
    expect(readFileSync(path).subarray(0, 11)).toEqual(Buffer.from([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]));
    disk.close();
  });
});
