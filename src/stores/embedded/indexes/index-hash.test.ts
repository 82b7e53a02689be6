import { expect, it } from "vitest";
import { ID_BYTES, writeUuid } from "../../id-key.js";
import { HASHES, IndexHash } from "./index-hash.js";

const hash = new IndexHash(Buffer.from("0123456789abcdef", "hex"));

function ofUuid(by: IndexHash, id: string): number {
  const bytes = Buffer.alloc(ID_BYTES + 3);
  writeUuid(id, bytes, 3);
  return by.ofUuid(bytes, 3);
}

it("hashes are whole numbers, the same for the same id and key, and others under another key", () => {
  const other = new IndexHash(Buffer.from("1123456789abcdef", "hex"));
  for (const id of ["", "a", "order-1", "😀".repeat(200), "\ud800"]) {
    const value = hash.ofText(id);
    expect(Number.isSafeInteger(value) && value >= 0 && value < HASHES).toBe(true);
    expect(hash.ofText(id)).toBe(value);
    expect(other.ofText(id)).not.toBe(value);
  }
  const uuid = "12345678-9abc-4def-8123-456789abcdef";
  expect(ofUuid(hash, uuid)).toBe(ofUuid(hash, uuid));
  expect(ofUuid(other, uuid)).not.toBe(ofUuid(hash, uuid));
});

const ALIKE = [
  "",
  "\0",
  "\0\0",
  "\0\0\0",
  "\0\0\0\0",
  "a",
  "a\0",
  "\0a",
  "ab",
  "ba",
  "abc",
  "ab\0",
  "ab\0c",
  "x".repeat(130),
  "x".repeat(131),
  "x".repeat(130 + 256),
];

it("texts that differ by little, or by nothing but their length, have hashes of their own", () => {
  expect(new Set(ALIKE.map((id) => hash.ofText(id))).size).toBe(ALIKE.length);
});

it("so have keys, and the same key in each topic", () => {
  const hashes = [1, 2, 256].flatMap((topic) => ALIKE.map((key) => hash.ofKey(topic, Buffer.from(key))));
  expect(new Set(hashes).size).toBe(3 * ALIKE.length);
  expect(ALIKE.map((key) => hash.ofKey(1, Buffer.from(`-${key}`).subarray(1)))).toEqual(
    hashes.slice(0, ALIKE.length),
  );
});

it("hashes are spread evenly, however alike the ids are", () => {
  const count = 64_000;
  const buckets = { text: new Uint32Array(64), uuid: new Uint32Array(64), low: new Uint32Array(64) };
  const all = new Set<number>();
  const countIn = (bucket: Uint32Array, at: number): void => {
    bucket[at] = (bucket[at] as number) + 1;
  };
  for (let n = 0; n < count; n++) {
    const text = hash.ofText(`order-${n}`);
    const uuid = ofUuid(hash, `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`);
    all.add(text).add(uuid);
    countIn(buckets.text, Math.floor((text / HASHES) * 64));
    countIn(buckets.uuid, Math.floor((uuid / HASHES) * 64));
    countIn(buckets.low, text % 64);
  }
  expect(all.size).toBe(2 * count);
  // 1,000 in each, give or take: five times what chance gives.
  for (const bucket of Object.values(buckets))
    for (const found of bucket) expect(Math.abs(found - count / 64)).toBeLessThan(160);
});
