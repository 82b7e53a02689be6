/**
 * The JSON of a value as bytes, without its text in between: the same as JSON.stringify gives. For values that were copied on
 * their way in (model/json-copy.ts): plain objects, lists, texts, finite numbers, true, false and null.
 *
 * Events of one kind have the same names in the same order, and objects and lists inside of them are often the very same as in
 * the event before. So names are remembered as bytes, each behind the names before it, and with a name what stood there last.
 * Objects with ever new names (maps by id) are written name by name. They may push out what is remembered; it is learned again.
 */

/** Names that are remembered behind one and the same, and in all: with one more, all are forgotten. */
const MOST_BESIDE = 8;
const MOST_NAMES = 1_024;
/** Names of one object, and characters of a name, that are remembered. */
const MOST_MEMBERS = 64;
const MOST_CHARACTERS = 128;
/** One in so many objects with unknown names is learned. */
const LEARN_EVERY = 16;
/** Bytes of an object or a list that are remembered. */
const MOST_REMEMBERED = 512;
/** Longer texts are left to the engine, which begins slowly and goes on fast. */
const LONG_TEXT = 128;
/** Below this, a number with three decimals more is exact. */
const MOST_WITH_DECIMALS = 1e9;
/** Fewer bytes are copied faster one by one. */
const FEW_BYTES = 32;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;

/** A name, behind the names that lead here. */
class Name {
  readonly name: string;
  /** Behind a comma, in quotes, with a colon. */
  readonly bytes: Uint8Array;
  firstBehind: Name | undefined;
  beside: Name | undefined;
  /** The object or list that came with it last, and its bytes once it has come twice in a row. */
  last: object | undefined;
  lastBytes: Uint8Array | undefined;

  constructor(name: string) {
    this.name = name;
    this.bytes = Buffer.from(`,${JSON.stringify(name)}:`);
  }
}

export class JsonWriter {
  #target: Buffer = Buffer.alloc(0);
  #start = 0;
  #at = 0;
  #names = new Name("");
  #count = 0;
  #unknown = 0;

  /** Writes to `target` from `at` on. If it is too small, what stands there from `start` on moves to a larger one. */
  write(value: unknown, target: Buffer, start: number, at: number): void {
    this.#target = target;
    this.#start = start;
    this.#at = at;
    // Loops over members see inherited ones as well.
    for (const _ in Object.prototype) {
      this.#foreign(JSON.stringify(value));
      return;
    }
    this.#value(value);
  }

  get target(): Buffer {
    return this.#target;
  }

  /** Behind what was written. */
  get end(): number {
    return this.#at;
  }

  #value(value: unknown): void {
    if (typeof value === "string") this.#text(value);
    else if (typeof value === "number") this.#number(value);
    else if (typeof value === "object" && value !== null) this.#nested(value);
    else this.#ascii(value === null ? "null" : value ? "true" : "false");
  }

  #nested(value: object): void {
    if (Array.isArray(value)) this.#list(value);
    else this.#object(value as Readonly<Record<string, unknown>>);
  }

  #list(items: readonly unknown[]): void {
    this.#byte(OPEN_LIST);
    for (let i = 0; i < items.length; i++) {
      if (i > 0) this.#byte(COMMA);
      this.#value(items[i]);
    }
    this.#byte(CLOSE_LIST);
  }

  #object(members: Readonly<Record<string, unknown>>): void {
    const from = this.#at;
    let known: Name | undefined = this.#names;
    for (const name in members) {
      if (known !== undefined) known = behind(known, name);
      if (known === undefined) {
        this.#byte(COMMA);
        this.#text(name);
        this.#byte(COLON);
        this.#value(members[name]);
        continue;
      }
      this.#copy(known.bytes);
      const member = members[name];
      if (typeof member === "object" && member !== null) this.#perhapsTheSame(known, member);
      else this.#value(member);
    }
    if (this.#at === from) this.#byte(OPEN_OBJECT);
    else this.#target[from] = OPEN_OBJECT;
    this.#byte(CLOSE_OBJECT);
    if (known === undefined && ++this.#unknown % LEARN_EVERY === 0) this.#learn(members);
  }

  #perhapsTheSame(known: Name, value: object): void {
    const isSame = value === known.last;
    if (isSame && known.lastBytes !== undefined) {
      this.#copy(known.lastBytes);
      return;
    }
    const from = this.#at;
    this.#nested(value);
    const isSmall = this.#at - from <= MOST_REMEMBERED;
    known.last = isSmall ? value : undefined;
    known.lastBytes =
      isSame && isSmall ? Uint8Array.prototype.slice.call(this.#target, from, this.#at) : undefined;
  }

  #learn(members: object): void {
    let known = this.#names;
    let names = 0;
    for (const name in members) {
      if (++names > MOST_MEMBERS || name.length > MOST_CHARACTERS) return;
      const next = behind(known, name) ?? this.#add(known, name);
      if (next === undefined) return;
      known = next;
    }
  }

  #add(known: Name, name: string): Name | undefined {
    let beside = 0;
    for (let other = known.firstBehind; other !== undefined; other = other.beside) beside++;
    if (beside >= MOST_BESIDE || this.#count >= MOST_NAMES) {
      this.#names = new Name("");
      this.#count = 0;
      return undefined;
    }
    const added = new Name(name);
    added.beside = known.firstBehind;
    known.firstBehind = added;
    this.#count++;
    return added;
  }

  #text(text: string): void {
    if (text.length > LONG_TEXT || !this.#simple(text)) this.#foreign(JSON.stringify(text));
  }

  /** False if there is something in it that is left to the engine: control characters, and those that take two places. */
  #simple(text: string): boolean {
    const { length } = text;
    this.#need(length * 3 + 2);
    const target = this.#target;
    let at = this.#at;
    target[at++] = QUOTE;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x80) {
        if (code < SPACE) return false;
        if (code === QUOTE || code === BACKSLASH) target[at++] = BACKSLASH;
        target[at++] = code;
      } else if (code < 0x800) {
        target[at++] = 0xc0 | (code >> 6);
        target[at++] = 0x80 | (code & 0x3f);
      } else {
        if (code >= FIRST_SURROGATE && code <= LAST_SURROGATE) return false;
        target[at++] = 0xe0 | (code >> 12);
        target[at++] = 0x80 | ((code >> 6) & 0x3f);
        target[at++] = 0x80 | (code & 0x3f);
      }
    }
    target[at++] = QUOTE;
    this.#at = at;
    return true;
  }

  /** As few digits as tell it from its neighbours. Where one to three decimals do, these are found without a search. */
  #number(number: number): void {
    const size = Math.abs(number);
    if (Number.isSafeInteger(number)) {
      if (number < 0) this.#byte(MINUS);
      this.#whole(size);
      return;
    }
    if (size < MOST_WITH_DECIMALS) {
      for (let decimals = 1, scale = 10; decimals <= 3; decimals++, scale *= 10) {
        const scaled = Math.round(size * scale);
        if (scaled / scale !== size) continue;
        const whole = Math.floor(size);
        if (number < 0) this.#byte(MINUS);
        this.#whole(whole);
        this.#byte(POINT);
        this.#digits(scaled - whole * scale, decimals);
        return;
      }
    }
    this.#ascii(String(number));
  }

  #whole(number: number): void {
    if (number >= 1e8) {
      const high = Math.floor(number / 1e8);
      this.#whole(high);
      this.#digits(number - high * 1e8, 8);
      return;
    }
    let width = 1;
    for (let least = 10; number >= least; least *= 10) width++;
    this.#digits(number, width);
  }

  /** A whole number below 10^8, with zeros in front. */
  #digits(number: number, width: number): void {
    this.#need(width);
    const target = this.#target;
    let rest = number | 0;
    for (let at = this.#at + width - 1; at >= this.#at; at--) {
      const tenth = (rest / 10) | 0;
      target[at] = ZERO + rest - tenth * 10;
      rest = tenth;
    }
    this.#at += width;
  }

  #ascii(text: string): void {
    const { length } = text;
    this.#need(length);
    const target = this.#target;
    let at = this.#at;
    for (let i = 0; i < length; i++) target[at++] = text.charCodeAt(i);
    this.#at = at;
  }

  /** Any text, as it is. */
  #foreign(text: string): void {
    this.#need(text.length * 3);
    this.#at += this.#target.write(text, this.#at, "utf8");
  }

  #copy(bytes: Uint8Array): void {
    const { length } = bytes;
    this.#need(length);
    const target = this.#target;
    const at = this.#at;
    if (length > FEW_BYTES) target.set(bytes, at);
    else for (let i = 0; i < length; i++) target[at + i] = bytes[i] as number;
    this.#at = at + length;
  }

  #byte(byte: number): void {
    this.#need(1);
    this.#target[this.#at++] = byte;
  }

  #need(bytes: number): void {
    if (this.#at + bytes > this.#target.length)
      this.#target = grown(this.#target, this.#start, this.#at, bytes);
  }
}

/** A larger buffer with what stands from `start` to `end`, and with room for so many bytes behind it. */
export function grown(target: Buffer, start: number, end: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow((end + bytes) * 2);
  target.copy(larger, start, start, end);
  return larger;
}

function behind(known: Name, name: string): Name | undefined {
  let next = known.firstBehind;
  while (next !== undefined && next.name !== name) next = next.beside;
  return next;
}
