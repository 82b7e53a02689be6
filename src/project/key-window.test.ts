import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyWindow } from "./key-window.js";

interface Offer {
  readonly key: string;
  readonly version: number;
}

/** Window after window, as a reader goes through them, each over the whole stream. */
function readAll(offers: readonly Offer[], maxKeys: number, maxBytes: number): Offer[] {
  const found: Offer[] = [];
  for (let after: string | undefined; ; ) {
    const window = new KeyWindow<null>({ after, maxKeys, maxBytes });
    for (const offer of offers) window.offer({ ...offer, value: null, bytes: 10 });
    const { entries, more } = window.close();
    expect(entries.length).toBeLessThanOrEqual(maxKeys);
    found.push(...entries.map(({ key, version }) => ({ key, version })));
    if (!more) return found;
    after = entries.at(-1)?.key;
  }
}

describe("key window", () => {
  it("window by window, every key comes once, in order, with its highest version, whatever the bounds", () => {
    const offer = fc.record({ key: fc.string({ maxLength: 3 }), version: fc.nat(50) });
    fc.assert(
      fc.property(
        fc.array(offer, { maxLength: 80 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 5, max: 200 }),
        (offers, maxKeys, maxBytes) => {
          const highest = new Map<string, number>();
          for (const { key, version } of offers) {
            highest.set(key, Math.max(version, highest.get(key) ?? -1));
          }
          const expected = [...highest].map(([key, version]) => ({ key, version }));
          expected.sort((a, b) => (a.key < b.key ? -1 : 1));
          expect(readAll(offers, maxKeys, maxBytes)).toEqual(expected);
        },
      ),
    );
  });

  it("never holds more than twice its keys", () => {
    const window = new KeyWindow<number>({ maxKeys: 10, maxBytes: 1e9 });
    for (let i = 1_000; i > 0; i--) window.offer({ key: `k${i}`, version: 1, value: i, bytes: 1 });
    expect(window.close()).toMatchObject({ more: true, entries: { length: 10 } });
    expect(window.wants("z")).toBe(false);
  });
});
