/**
 * Frozen copies of what callers hand in, as JSON would keep them. Nearly everything is plain data: that is copied without
 * keeping track of where we are. Whatever is not (a Date, an object of a class, something JSON cannot keep) makes us begin
 * again, strictly, with a path for the error message.
 */
import { BusError, describeThrown } from "./errors.js";
import { isPlain, Makes, type MemberCopier, NOT_PLAIN, type Place } from "./json-makes.js";

export interface JsonCopy {
  readonly copy: unknown;
  /** Characters of the JSON text, give or take escapes. */
  readonly size: number;
}

/** Throws INVALID_PAYLOAD with the path of what JSON cannot keep. */
export function copyJson(value: unknown, maxDepth: number): JsonCopy {
  // A getter of the caller's may copy something in the middle: that one is made anew.
  const quick = spare ?? new PlainCopier();
  spare = undefined;
  const copy = quick.copyWhole(value, maxDepth);
  const { size } = quick;
  spare = quick;
  if (copy !== NOT_PLAIN) return { copy, size };
  const strict = new StrictCopier(maxDepth);
  return { copy: strict.copyWhole(value), size: strict.size };
}

const makes = new Makes();
/** One that nobody uses now. */
let spare: PlainCopier | undefined;

/** Copies values, arrays and plain objects of them; gives NOT_PLAIN for anything else. */
class PlainCopier implements MemberCopier {
  size = 0;
  #maxDepth = 0;

  copyWhole(value: unknown, maxDepth: number): unknown {
    this.size = 0;
    this.#maxDepth = maxDepth;
    // Loops over members see inherited ones as well. Somebody who gives all objects of the process a member pays for it.
    for (const _ in Object.prototype) return NOT_PLAIN;
    try {
      return this.copy(value, 0);
    } catch {
      // Getters and proxies are the caller's code.
      return NOT_PLAIN;
    }
  }

  copy(value: unknown, depth: number, place?: Place): unknown {
    // One question after the other: a switch makes the type's name and compares texts.
    if (typeof value === "object") {
      if (value !== null) return this.#copyObject(value, depth, place);
      this.size += 5;
      return null;
    }
    if (typeof value === "string") {
      this.size += value.length + 3;
      return value;
    }
    if (typeof value === "number") {
      this.size += 8;
      // Neither NaN nor infinite; minus zero becomes zero.
      return value - value === 0 ? value + 0 : NOT_PLAIN;
    }
    if (typeof value !== "boolean") return NOT_PLAIN;
    this.size += 6;
    return value;
  }

  #copyObject(value: object, depth: number, place: Place | undefined): unknown {
    if (depth >= this.#maxDepth) return NOT_PLAIN;
    const before = this.size;
    this.size += 2;
    if (Array.isArray(value)) return this.#copyArray(value, depth, place);
    const make = makes.of(value);
    if (make !== undefined) {
      const copy = make(value, this, depth, place);
      if (copy !== undefined) return copy;
      this.size = before + 2;
    }
    if (!isPlain(value)) return NOT_PLAIN;
    if (make === undefined) makes.pass(value);
    return this.#copyMembers(value as Record<string, unknown>, depth);
  }

  #copyArray(value: readonly unknown[], depth: number, place: Place | undefined): unknown {
    if ((value as { toJSON?: unknown }).toJSON !== undefined) return NOT_PLAIN;
    const last = place?.last(undefined) as readonly unknown[] | undefined;
    if (place !== undefined && last !== undefined && hasSameItems(value, last)) {
      this.size += place.found();
      return last;
    }
    const before = this.size;
    const copy = new Array<unknown>(value.length);
    for (let i = 0; i < value.length; i++) {
      const copied = this.copy(value[i] ?? null, depth + 1);
      if (copied === NOT_PLAIN) return NOT_PLAIN;
      copy[i] = copied;
    }
    place?.remember(copy, this.size - before, undefined);
    return Object.freeze(copy);
  }

  #copyMembers(value: Readonly<Record<string, unknown>>, depth: number): unknown {
    const copy: Record<string, unknown> = {};
    for (const name in value) {
      const member = value[name];
      if (member === undefined) continue;
      // Plain assignment to that one would change the copy's prototype.
      if (name === "__proto__") return NOT_PLAIN;
      this.size += name.length + 4;
      const copied = this.copy(member, depth + 1);
      if (copied === NOT_PLAIN) return NOT_PLAIN;
      copy[name] = copied;
    }
    return Object.freeze(copy);
  }
}

/** Items that are objects are never taken for the same: only copying them tells how deep they are. */
function hasSameItems(value: readonly unknown[], last: readonly unknown[]): boolean {
  if (value.length !== last.length) return false;
  for (let i = 0; i < last.length; i++) {
    const item = value[i] ?? null;
    if (item !== last[i] || (typeof item === "object" && item !== null)) return false;
  }
  return true;
}

/** Takes everything that JSON can keep, and says of anything else where it stands and what it is. */
class StrictCopier {
  /** Characters of the JSON text, give or take escapes. */
  size = 0;
  readonly #maxDepth: number;
  readonly #path: (string | number)[] = [];
  readonly #open: object[] = [];

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  copyWhole(value: unknown): unknown {
    try {
      return this.copy(value, 0);
    } catch (error) {
      if (error instanceof BusError) throw error;
      // Getters and proxies are the caller's code.
      return this.#refuse(`reading it throws: ${describeThrown(error)}`);
    }
  }

  copy(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case "string":
        this.size += value.length + 3;
        return value;
      case "number":
        if (!Number.isFinite(value)) this.#refuse(`${value} has no JSON form`);
        this.size += 8;
        return value === 0 ? 0 : value;
      case "boolean":
        this.size += 6;
        return value;
      case "object":
        return value === null ? this.#null() : this.#copyObject(value, depth);
      default:
        return this.#refuse(
          `${typeof value === "undefined" ? "undefined" : `a ${typeof value}`} has no JSON form`,
        );
    }
  }

  #null(): null {
    this.size += 5;
    return null;
  }

  #copyObject(value: object, depth: number): unknown {
    if (depth >= this.#maxDepth) this.#refuseDepth(value);
    if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
      return this.#copyConverted(value as { toJSON(key: string): unknown }, depth);
    }
    this.size += 2;
    this.#open.push(value);
    const copy = Array.isArray(value) ? this.#copyArray(value, depth) : this.#copyMembers(value, depth);
    this.#open.pop();
    return Object.freeze(copy);
  }

  #copyConverted(value: { toJSON(key: string): unknown }, depth: number): unknown {
    let converted: unknown;
    try {
      converted = value.toJSON(String(this.#path.at(-1) ?? ""));
    } catch {
      this.#refuse("its toJSON() throws");
    }
    return this.copy(converted, depth + 1);
  }

  #copyArray(value: readonly unknown[], depth: number): unknown[] {
    const copy = new Array<unknown>(value.length);
    for (let i = 0; i < value.length; i++) {
      this.#path.push(i);
      copy[i] = value[i] === undefined ? this.#null() : this.copy(value[i], depth + 1);
      this.#path.pop();
    }
    return copy;
  }

  #copyMembers(value: object, depth: number): object {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null && holdsMoreThanMembers(value)) {
      this.#refuse(`a ${value.constructor.name} has no JSON form`);
    }
    const copy: Record<string, unknown> = {};
    for (const name of Object.keys(value)) {
      this.#path.push(name);
      const member = (value as Record<string, unknown>)[name];
      if (member === undefined) {
        this.#path.pop();
        continue;
      }
      this.size += name.length + 4;
      const copied = this.copy(member, depth + 1);
      if (name === "__proto__") defineOwn(copy, name, copied);
      else copy[name] = copied;
      this.#path.pop();
    }
    return copy;
  }

  /** What contains itself is named by where that shows first, not by the depth at which it was noticed. */
  #refuseDepth(value: object): never {
    if (!this.#open.includes(value)) this.#refuse(`it is nested deeper than ${this.#maxDepth} levels`);
    const again = this.#open.findIndex((one, i) => this.#open.indexOf(one) < i);
    if (again >= 0) this.#path.length = Math.min(this.#path.length, again);
    this.#refuse("it contains itself");
  }

  #refuse(why: string): never {
    const steps = this.#path.slice(0, MAX_STEPS_NAMED).map(step).join("");
    const more = this.#path.length > MAX_STEPS_NAMED ? "…" : "";
    const at = this.#path.length === 0 ? "the payload" : `payload${steps}${more}`;
    throw new BusError("INVALID_PAYLOAD", `${at}: ${why}`, { details: { path: [...this.#path] } });
  }
}

/** Of a path in a message; `details.path` has all of it. */
const MAX_STEPS_NAMED = 8;

/** Kinds of objects whose content is not in their members: copied member by member they would end up empty. */
const OPAQUE: readonly (new (...args: never[]) => object)[] = [
  Map,
  Set,
  WeakMap,
  WeakSet,
  ArrayBuffer,
  Error,
  Promise,
  RegExp,
  Number,
  String,
  Boolean,
];

function holdsMoreThanMembers(value: object): boolean {
  return ArrayBuffer.isView(value) || OPAQUE.some((kind) => value instanceof kind);
}

function step(part: string | number): string {
  return typeof part === "number" ? `[${part}]` : `.${part}`;
}

/** Plain assignment to `__proto__` would change the object's prototype; as data it must be a member like any other. */
function defineOwn(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
