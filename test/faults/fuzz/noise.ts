/** Inputs that nobody would send: nearly right, torn, swapped, nested, noise. All chance comes from the seed. */
import { seededRandom } from "../../../src/model/manual-clock.js";

/** Texts that have broken something somewhere. */
const NASTY = [
  ...[
    "",
    " ",
    ".",
    "..",
    "*",
    "**",
    "***",
    "a..b",
    ".a",
    "a.",
    "-",
    "0",
    "-0",
    "-1",
    "1e999",
    "NaN",
    "null",
    "true",
  ],
  ...[
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "$where",
    "$eq",
    "a.b",
    "a[0]",
    "_key",
  ],
  ...[
    "\u0000",
    "a\u0000b",
    "\u202e",
    "\ufeff",
    "\ud800",
    "\udfff\ud800",
    "é",
    "日本",
    "😀",
    "\n",
    "\r\n",
    "\u2028",
  ],
  ...[
    "%",
    "%00",
    "%2e%2e",
    "../../etc/passwd",
    "<script>",
    "' OR 1=1 --",
    "#{x}",
    "{{x}}",
    "\\",
    '"',
    "0x10",
  ],
  ...["9007199254740993", "1".repeat(400), "a".repeat(201), "a".repeat(300), "x".repeat(5_000)],
];
const KEYS = [
  "__proto__",
  "constructor",
  "prototype",
  "a",
  "b",
  "$where",
  "a.b",
  "",
  "type",
  "0",
  "toString",
];

export class Noise {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  below(count: number): number {
    return Math.floor(this.random() * count);
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  many<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  /** A text from this alphabet. */
  word(alphabet: string, most: number): string {
    return this.many(most, () => alphabet[this.below(alphabet.length)]).join("");
  }

  text(): string {
    if (this.chance(0.5)) return this.pick(NASTY);
    return this.many(12, () => String.fromCharCode(this.below(this.chance(0.8) ? 128 : 65_536))).join("");
  }

  bytes(most: number): Buffer {
    return Buffer.from(this.many(most, () => this.below(256)));
  }

  /** `text` with some characters changed, gone, doubled or moved. */
  torn(text: string): string {
    let torn = text;
    for (let times = this.below(4); times >= 0; times--) {
      const at = this.below(torn.length + 1);
      const [before, after] = [torn.slice(0, at), torn.slice(at)];
      torn = this.pick([
        before + after.slice(1),
        before + this.text() + after,
        after + before,
        before + before.slice(-5) + after,
        before + String.fromCharCode(this.below(128)) + after.slice(1),
      ]).slice(0, 20_000);
    }
    return torn;
  }

  /** Any JSON value; objects have awkward keys of their own, not inherited ones. */
  json(depth = 4): unknown {
    const kind = this.below(depth <= 0 ? 5 : 8);
    if (kind === 0) return null;
    if (kind === 1) return this.chance(0.5);
    if (kind === 2) return this.pick([0, -1, 1.5, 1e21, 2 ** 53, -0, 1e-7, this.below(1_000)]);
    if (kind <= 4) return this.text();
    if (kind === 5) return this.many(4, () => this.json(depth - 1));
    return this.object(() => this.json(depth - 1));
  }

  object(value: () => unknown): Record<string, unknown> {
    const entries = this.many(4, () => [this.pick([...KEYS, this.text()]), value()] as const);
    // As a parser makes it: "__proto__" is a member like any other.
    return JSON.parse(`{${entries.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join(",")}}`);
  }
}
