import { describe, expect, it } from "vitest";
import { BusError } from "../../model/errors.js";
import { decodeEntries, EntryList, encodeEntries, MAX_CHUNK } from "./index-entries.js";
import { ChunkFilters, filterOf } from "./index-filter.js";
import { IndexHash } from "./index-hash.js";
import { ID_TABLES } from "./index-tables.js";

const hash = new IndexHash(Buffer.from("0123456789abcdef", "hex"));

function entriesOf(count: number): EntryList {
  const entries = new EntryList(1);
  for (let n = 0; n < count; n++)
    entries.push(hash.ofText(`id-${n}`), 8_000_000 + n, n % 2 ? 2 ** 40 - n : -n);
  return entries;
}

it("entries come back as they were, wherever their bytes lie", () => {
  const entries = entriesOf(100);
  const bytes = encodeEntries(entries, 10, 60);
  const elsewhere = Buffer.concat([Buffer.from("odd"), bytes]).subarray(3);
  const { length, hashes, parts, seqs } = decodeEntries(elsewhere, ID_TABLES, "a test");
  expect(length).toBe(50);
  for (let i = 0; i < length; i++)
    expect([hashes[i], parts[i], seqs[i]]).toEqual([
      entries.hashes[i + 10],
      entries.parts[i + 10],
      entries.seqs[i + 10],
    ]);
});

it("P14: entries with a byte that is not what it was are refused, and so are those that end too early", () => {
  const bytes = encodeEntries(entriesOf(3), 0, 3);
  const damaged = [...bytes.keys()].map((at) => {
    const copy = Buffer.from(bytes);
    copy[at] = (copy[at] as number) ^ 1;
    return copy;
  });
  for (const one of [...damaged, bytes.subarray(0, -20), Buffer.alloc(0), Buffer.alloc(8)]) {
    let error: unknown;
    try {
      decodeEntries(one, ID_TABLES, "chunk 7");
    } catch (thrown) {
      error = thrown;
    }
    expect(BusError.is(error, "STORE_DAMAGED") && error.message).toContain("chunk 7");
  }
});

describe("filters of chunks", () => {
  it("let through all that are in their chunk, and hardly any other", () => {
    const { hashes } = entriesOf(MAX_CHUNK);
    const filters = new ChunkFilters(() => [[0, filterOf(hashes, MAX_CHUNK)]]);
    for (let i = 0; i < MAX_CHUNK; i++) expect(filters.mayHold(0, hashes[i] as number)).toBe(true);
    let passed = 0;
    for (let n = 0; n < 100_000; n++) if (filters.mayHold(0, hash.ofText(`other-${n}`))) passed++;
    expect(passed).toBeLessThan(300);
  });

  it("P14: those that are damaged, or not there, let everything through", () => {
    const stored = filterOf(entriesOf(10).hashes, 10);
    const flipped = Buffer.from(stored);
    flipped[5] = (flipped[5] as number) ^ 4;
    const filters = new ChunkFilters(() => [
      [0, stored],
      [1, flipped],
      [2, stored.subarray(1)],
    ]);
    const other = hash.ofText("anything");
    expect([0, 1, 2, 3].map((chunk) => filters.mayHold(chunk, other))).toEqual([false, true, true, true]);
  });

  it("are loaded with their neighbours, each once", () => {
    const loads: [number, number][] = [];
    const filters = new ChunkFilters((from, count) => {
      loads.push([from, count]);
      return Array.from({ length: count }, (_, n) => [from + n, filterOf(hashOfChunk(from + n), 1)] as const);
    });
    for (const chunk of [70, 64, 127, 3, 200, 70])
      for (const other of [70, 64, 127, 3, 200])
        expect(filters.mayHold(chunk, hashOfChunk(other)[0] as number)).toBe(chunk === other);
    expect(loads).toEqual([
      [64, 64],
      [0, 64],
      [192, 64],
    ]);
  });
});

function hashOfChunk(chunk: number): Float64Array {
  return Float64Array.of(hash.ofText(`in-${chunk}`));
}
