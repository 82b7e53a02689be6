/**
 * Objects of one make have the same names in the same order, as events of one kind do. For makes that come again and again a
 * function is made that names each member: it copies in less than half the time of a loop over names, since V8 knows where
 * each member stands, and leaves half the garbage, since the copy need not grow member by member.
 *
 * Objects with ever new names (maps by id) are no make: what counts is that the same names are seen twice within a few looks,
 * and only some objects are looked at. Names reach the code as JSON strings only. Where code may not be made from text
 * (node --disallow-code-generation-from-strings) there are no makes, and everything is copied by the loop.
 */

/** Who copies the members that are not plain text or numbers, and counts. */
export interface MemberCopier {
  size: number;
  /** The copy of a member, or `NOT_PLAIN`. */
  copy(member: unknown, depth: number, place: Place): unknown;
}

/** Longer ones are not remembered: there are as many places as makes have members. */
const MOST_REMEMBERED = 512;
/** Where so many in a row were different, the next ones are most likely too: for so many nobody looks. */
const MOST_MISSES = 8;
const REST = 64;

/**
 * A member of a make, and what was copied there last. Objects and lists inside of events are often the same from one event to the
 * next (labels, tags), and nobody can change a copy: then the events share one.
 */
export class Place {
  #copy: unknown;
  #make: CopyOfMake | undefined;
  #size = 0;
  #misses = 0;
  #rest = 0;

  /** What was copied here last, if it is of this make (undefined: a list). */
  last(make: CopyOfMake | undefined): unknown {
    return this.#rest === 0 && this.#make === make ? this.#copy : undefined;
  }

  /** It is the same again. Returns the characters of it. */
  found(): number {
    this.#misses = 0;
    return this.#size;
  }

  /** This one is new. */
  remember(copy: unknown, size: number, make: CopyOfMake | undefined): void {
    if (this.#rest > 0) this.#rest--;
    else if (size > MOST_REMEMBERED || ++this.#misses > MOST_MISSES) {
      this.#rest = REST;
      // Then one is remembered, and the next one is compared with it.
      this.#misses = MOST_MISSES - 1;
    } else {
      this.#copy = copy;
      this.#size = size;
      this.#make = make;
    }
  }
}

/** Instead of a copy: this needs a closer look. Nothing that a caller can hand in. */
export const NOT_PLAIN = Symbol("not plain");

/**
 * A frozen copy; NOT_PLAIN, for objects of a class as well; or undefined if a member is: then the names of the copy are others.
 * `place`: where the value stands.
 */
export type CopyOfMake = (value: object, copier: MemberCopier, depth: number, place?: Place) => unknown;

/** A name, behind the names that lead here. */
class Step {
  readonly name: string;
  copy: CopyOfMake | undefined;
  firstBehind: Step | undefined;
  beside: Step | undefined;

  constructor(name: string) {
    this.name = name;
  }
}

const MAX_MAKES = 128;
const MAX_NAMES = 64;
/** One in so many objects of no known make is looked at. */
const LOOK_EVERY = 16;
const REMEMBERED_LOOKS = 32;

export class Makes {
  readonly #compile: Compile;
  readonly #start = new Step("");
  /** Names of those that were looked at last. */
  readonly #looks: string[] = [];
  #next = 0;
  #passed = 0;
  #made = 0;

  constructor(compile: Compile = compileHere) {
    this.#compile = compile;
  }

  /** How many are known. */
  get size(): number {
    return this.#made;
  }

  /** The function for the make of `value`, if it is known. */
  of(value: object): CopyOfMake | undefined {
    let step: Step | undefined = this.#start;
    for (const name in value) {
      step = step.firstBehind;
      while (step !== undefined && step.name !== name) step = step.beside;
      if (step === undefined) return undefined;
    }
    return step.copy;
  }

  /** An object of no known make, a plain one. */
  pass(value: object): void {
    if (this.#made < MAX_MAKES && ++this.#passed % LOOK_EVERY === 0) this.#look(value);
  }

  #look(value: object): void {
    const names = Object.keys(value);
    if (names.length === 0 || names.length > MAX_NAMES || names.includes("__proto__")) return;
    const look = JSON.stringify(names);
    if (this.#looks.includes(look)) this.#learn(names);
    else this.#looks[this.#next++ % REMEMBERED_LOOKS] = look;
  }

  #learn(names: readonly string[]): void {
    let copy: CopyOfMake;
    try {
      copy = this.#compile(codeFor(names));
    } catch {
      // No code may be made here, now or later.
      this.#made = MAX_MAKES;
      return;
    }
    let step = this.#start;
    for (const name of names) step = stepBehind(step, name);
    step.copy = copy;
    this.#made++;
  }
}

function stepBehind(step: Step, name: string): Step {
  for (let next = step.firstBehind; next !== undefined; next = next.beside)
    if (next.name === name) return next;
  const next = new Step(name);
  next.beside = step.firstBehind;
  step.firstBehind = next;
  return next;
}

/** Makes a function of its code; throws where that is not allowed. */
type Compile = (code: string) => CopyOfMake;

const compileHere: Compile = (code) => new Function("NOT_PLAIN", "Place", code)(NOT_PLAIN, Place);

/** Neither of a class, nor with a form of its own for JSON. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) &&
    (value as { toJSON?: unknown }).toJSON === undefined
  );
}

function codeFor(names: readonly string[]): string {
  const quoted = names.map((name) => JSON.stringify(name));
  const sizeOfNames = names.reduce((sum, name) => sum + name.length + 4, 0);
  const places = quoted.map((_, i) => `const p${i} = new Place();`);
  const copied = quoted.map(
    (name, i) => `
      let m${i} = value[${name}];
      if (typeof m${i} === "string") size += m${i}.length + 3;
      else if (typeof m${i} === "number" && m${i} - m${i} === 0) { size += 8; m${i} += 0; }
      else if (m${i} === undefined) return undefined;
      else { m${i} = copier.copy(m${i}, depth + 1, p${i}); if (m${i} === NOT_PLAIN) return NOT_PLAIN; }`,
  );
  const same = quoted.map((name, i) => `last[${name}] === m${i}`).join(" && ");
  const members = quoted.map((name, i) => `${name}: m${i}`).join(", ");
  return `"use strict";
    const { freeze, getPrototypeOf, prototype } = Object;
    ${places.join("")}
    const make = (value, copier, depth, place) => {
      if (value.toJSON !== undefined) return NOT_PLAIN;
      const parent = getPrototypeOf(value);
      if (parent !== prototype && parent !== null) return NOT_PLAIN;
      const before = copier.size;
      let size = ${sizeOfNames};${copied.join("")}
      copier.size += size;
      if (place === undefined) return freeze({ ${members} });
      const last = place.last(make);
      if (last !== undefined && ${same}) { place.found(); return last; }
      const copy = freeze({ ${members} });
      place.remember(copy, copier.size - before, make);
      return copy;
    };
    return make;`;
}
