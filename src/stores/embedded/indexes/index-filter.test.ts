import { expect, it } from "vitest";
import { MAX_CHUNK } from "./index-entries.js";
import { blocksFor, blocksOf, filterOf, RunFilter } from "./index-filter.js";
import { HASHES } from "./index-hash.js";

const NOTHING = (): void => {};

/** In their order, and the same each time. */
function spread(count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, n) =>
    Math.floor(((n * 0.6180339887498949) % 1) * HASHES),
  ).sort();
}

function chunksOf(hashes: Float64Array): Float64Array[] {
  const chunks: Float64Array[] = [];
  for (let from = 0; from < hashes.length; from += MAX_CHUNK)
    chunks.push(hashes.subarray(from, from + MAX_CHUNK));
  return chunks;
}

/** A filter that finds what each chunk carries where it is asked for, and the stretches that it was asked for. */
function filterOfChunks(chunks: readonly Float64Array[], blocks: number) {
  const loads: [from: number, to: number][] = [];
  const filter = new RunFilter(blocks, (into, from, to) => {
    loads.push([from, to]);
    for (const chunk of chunks) {
      const [first = 0, last = 0] = [chunk[0], chunk.at(-1)];
      if (last >= from && first < to) expect(into.add(filterOf(chunk, chunk.length, blocks))).toBe(true);
    }
  });
  return { filter, loads };
}

it("a filter lets through all that are in its run, and hardly any other", () => {
  const hashes = spread(20_000);
  const { filter } = filterOfChunks(chunksOf(hashes), blocksFor(hashes.length));
  for (const hash of hashes) expect(filter.mayHold(hash)).toBe(true);
  const others = Float64Array.from(
    { length: 100_000 },
    (_, n) => Math.floor((n / 100_000) * HASHES) + 12_345,
  );
  const marks = new Uint8Array(others.length);
  filter.mark(others, marks, -1, HASHES);
  const passed = marks.reduce((all, mark) => all + mark, 0);
  expect(passed).toBeLessThan(100);
  expect(passed).toBe(others.reduce((all, hash) => all + Number(filter.mayHold(hash)), 0));
});

it("P3: a filter lets through those beside the ends of its blocks, however these are rounded", () => {
  for (const blocks of [1, 7, 513, 1_543, 3_000]) {
    const ends = Array.from({ length: blocks }, (_, block) => Math.round((block * HASHES) / blocks));
    const beside = ends.flatMap((end) => [-2, -1, 0, 1, 2].map((by) => end + by)).filter((hash) => hash >= 0);
    const hashes = Float64Array.from([...beside, HASHES - 1]).sort();
    const { filter } = filterOfChunks(chunksOf(hashes), blocks);
    expect(hashes.filter((hash) => !filter.mayHold(hash))).toEqual(new Float64Array());
  }
});

it("a filter is loaded where it is asked about, once, and again from where there is more", () => {
  const chunks = chunksOf(spread(100_000));
  const { filter, loads } = filterOfChunks(chunks, blocksFor(100_000));
  const ask = (part: number): boolean =>
    filter.mayHold(chunks[Math.floor(part * chunks.length)]?.[0] as number);
  expect([0.1, 0.5, 0.1, 0.9].map(ask)).toEqual([true, true, true, true]);
  expect(loads).toHaveLength(3);
  for (const [from, to] of loads) expect((to - from) / HASHES).toBeLessThan(0.2);
  filter.forget(HASHES / 2);
  expect([0.1, 0.9].map(ask)).toEqual([true, true]);
  expect(loads).toHaveLength(4);
});

it("hashes outside of what was asked for are not marked", () => {
  const hashes = spread(100);
  const filter = new RunFilter(blocksFor(100), NOTHING);
  filter.addHashes(hashes);
  const marks = new Uint8Array(100);
  filter.mark(hashes, marks, hashes[10] as number, hashes[19] as number);
  expect([...marks.keys()].filter((at) => marks[at])).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
});

it("P14: what is damaged, cut short or made for another run is not added; what nothing is known of passes", () => {
  const hashes = spread(100);
  const stored = filterOf(hashes, 100, blocksFor(100));
  const flipped = [...stored.keys()].map((at) => {
    const copy = Buffer.from(stored);
    copy[at] = (copy[at] as number) ^ 4;
    return copy;
  });
  const shorter = [stored.subarray(0, -68), stored.subarray(1), Buffer.alloc(516), Buffer.alloc(0)];
  const filter = new RunFilter(blocksFor(100), NOTHING);
  for (const bad of [...flipped, ...shorter]) {
    expect(filter.add(bad)).toBe(false);
    expect(blocksOf(bad)).toBeUndefined();
  }
  expect(filter.add(filterOf(hashes, 100, blocksFor(200)))).toBe(false);
  expect([...hashes].filter((hash) => filter.mayHold(hash))).toEqual([]);
  filter.open(hashes[40] as number, hashes[49] as number);
  expect([...hashes.subarray(40, 50)].filter((hash) => !filter.mayHold(hash))).toEqual([]);
  expect(filter.mayHold(hashes[0] as number)).toBe(false);
});
