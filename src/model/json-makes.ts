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
  copy(member: unknown, depth: number): unknown;
}

/** Instead of a copy: this needs a closer look. Nothing that a caller can hand in. */
export const NOT_PLAIN = Symbol("not plain");

/** A frozen copy; NOT_PLAIN; or undefined if a member is: then the names of the copy are others. */
export type CopyOfMake = (value: object, copier: MemberCopier, depth: number) => unknown;

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

  /** The function for the make of `value`, which must have enumerable members of its own only. */
  of(value: object): CopyOfMake | undefined {
    let step: Step | undefined = this.#start;
    for (const name in value) {
      step = step.firstBehind;
      while (step !== undefined && step.name !== name) step = step.beside;
      if (step === undefined) break;
    }
    if (step?.copy === undefined && this.#made < MAX_MAKES && ++this.#passed % LOOK_EVERY === 0)
      this.#look(value);
    return step?.copy;
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

const compileHere: Compile = (code) => new Function("freeze", "NOT_PLAIN", code)(Object.freeze, NOT_PLAIN);

function codeFor(names: readonly string[]): string {
  const sizeOfNames = names.reduce((sum, name) => sum + name.length + 4, 0);
  const copied = names.map(
    (name, i) => `
      let m${i} = value[${JSON.stringify(name)}];
      if (typeof m${i} === "string") size += m${i}.length + 3;
      else if (typeof m${i} === "number" && m${i} - m${i} === 0) { size += 8; m${i} += 0; }
      else if (m${i} === undefined) return undefined;
      else { m${i} = copier.copy(m${i}, depth + 1); if (m${i} === NOT_PLAIN) return NOT_PLAIN; }`,
  );
  const members = names.map((name, i) => `${JSON.stringify(name)}: m${i}`);
  return `"use strict";
    return (value, copier, depth) => {
      let size = ${sizeOfNames};${copied.join("")}
      copier.size += size;
      return freeze({ ${members.join(", ")} });
    };`;
}
