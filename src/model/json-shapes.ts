/**
 * Copies of objects by their shape: the names of their members, in order. A program publishes objects of few shapes, again and
 * again; for a shape that comes often a function is made that copies such an object in one step. A copy that grows member
 * by member takes the engine about three times as long and more room.
 *
 * Functions are made of text, so what goes into the text is kept narrow: names that are plain words, nothing else. Where the
 * process may not make functions of text, there are none.
 */

/** Whoever copies members that are neither text nor number, and counts. */
export interface MemberCopier {
  size: number;
  copy(value: unknown, depth: number): unknown;
}

type Members = Readonly<Record<string, unknown>>;

/** Gives `notPlain` if a member is not plain data. `depth` is the members'. */
type ShapeCopy = (value: Members, copier: MemberCopier, depth: number) => unknown;

interface Shape {
  readonly names: readonly string[];
  uses: number;
  copy: ShapeCopy | null;
}

type UsableShape = Shape & { readonly copy: ShapeCopy };

/** Uses before a function is worth its making. */
const OFTEN = 100;
/** Functions in a process, and shapes that are watched: objects with ids for names have a new one each time. */
const MAX_FUNCTIONS = 128;
const MAX_WATCHED = 512;
/** Shapes whose first member has the same name: they are looked through one by one. */
const MAX_ALIKE = 32;
/** Odd, so that shapes that come in turns are met in turns. */
const MAX_EVERY = 63;
const MAX_MEMBERS = 48;
const PLAIN_WORD = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

export class Shapes {
  readonly #notPlain: symbol;
  /** By the name of the first member. */
  readonly #shapes = new Map<string, Shape[]>();
  #watched = 0;
  #functions = 0;
  /** Of unknown shapes only every so many is watched: more, the more of them came to nothing. */
  #every = 1;
  #unknown = 0;

  /** `notPlain`: what a copier gives instead of a copy. */
  constructor(notPlain: symbol) {
    this.#notPlain = notPlain;
  }

  /** The shape of the object, if it has come often enough to be copied by it. */
  of(value: Members): UsableShape | undefined {
    for (const first in value) {
      const shape = this.#find(first, value);
      if (shape === undefined) this.#watch(first, value);
      else if (shape.copy !== null) return shape as UsableShape;
      else if (++shape.uses === OFTEN) this.#make(shape);
      return undefined;
    }
    return undefined;
  }

  #find(first: string, value: Members): Shape | undefined {
    const alike = this.#shapes.get(first);
    if (alike === undefined) return undefined;
    for (let i = 0; i < alike.length; i++) {
      const shape = alike[i] as Shape;
      if (hasNames(value, shape.names)) return shape;
    }
    return undefined;
  }

  /** It is copied member by member from now on. */
  giveUp(shape: Shape): void {
    shape.copy = null;
  }

  #watch(first: string, value: Members): void {
    if (this.#functions >= MAX_FUNCTIONS || ++this.#unknown % this.#every !== 0) return;
    if (isLarge(value)) return;
    if (this.#watched >= MAX_WATCHED) for (const name of this.#shapes.keys()) this.#forgetRare(name);
    if ((this.#shapes.get(first)?.length ?? 0) >= MAX_ALIKE) this.#forgetRare(first);
    const alike = this.#shapes.get(first) ?? [];
    if (alike.length >= MAX_ALIKE) return;
    this.#shapes.set(first, [...alike, { names: Object.keys(value), uses: 1, copy: null }]);
    this.#watched++;
  }

  /** Room for others, among those that begin with this name. */
  #forgetRare(first: string): void {
    const alike = this.#shapes.get(first) ?? [];
    const often = alike.filter(({ uses }) => uses >= OFTEN);
    this.#every = Math.min(this.#every * 2 + 1, MAX_EVERY);
    if (often.length === 0) this.#shapes.delete(first);
    else this.#shapes.set(first, often);
    this.#watched -= alike.length - often.length;
  }

  #make(shape: Shape): void {
    if (this.#functions >= MAX_FUNCTIONS) return;
    // Counted also if it is left out: it stays among those that come often.
    this.#functions++;
    if (!shape.names.every(isPlainWord)) return;
    try {
      shape.copy = new Function("notPlain", "freeze", textOf(shape.names))(this.#notPlain, Object.freeze);
    } catch {
      // Not in this process.
      this.#functions = MAX_FUNCTIONS;
    }
  }
}

function isPlainWord(name: string): boolean {
  return PLAIN_WORD.test(name) && name !== "__proto__";
}

function isLarge(value: Members): boolean {
  let members = 0;
  for (const _ in value) if (++members > MAX_MEMBERS) return true;
  return false;
}

/** Exactly these, in this order. */
function hasNames(value: Members, names: readonly string[]): boolean {
  let i = 0;
  for (const name in value) if (name !== names[i++]) return false;
  return i === names.length;
}

function textOf(names: readonly string[]): string {
  const size = names.reduce((sum, name) => sum + name.length + 4, 2);
  const members = names.map((name, i) => memberText(name, `m${i}`));
  const literal = names.map((name, i) => `${name}: m${i}`).join(", ");
  return `return (value, copier, depth) => {
    let size = ${size};
    ${members.join("\n    ")}
    copier.size += size;
    return freeze({ ${literal} });
  };`;
}

/** As the copier does it: neither NaN nor infinite, minus zero becomes zero. */
function memberText(name: string, m: string): string {
  return `let ${m} = value.${name};
    if (typeof ${m} === "string") size += ${m}.length + 3;
    else if (typeof ${m} === "number") { if (${m} - ${m} !== 0) return notPlain; ${m} += 0; size += 8; }
    else { ${m} = copier.copy(${m}, depth); if (${m} === notPlain) return notPlain; }`;
}
