import { expect, it } from "vitest";
import { BusError } from "../../../model/errors.js";
import { decodeEntries, EntryList, encodeEntries } from "./index-entries.js";
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
