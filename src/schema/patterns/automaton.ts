/**
 * A pattern as an automaton over symbols, made deterministic step by step as it is walked. A pattern matches
 * somewhere in a text unless it is anchored, as `RegExp.test` has it.
 */
import {
  BY_UNITS,
  cutsOf,
  EVERY_SYMBOL,
  parsePattern,
  type SymbolSet,
  type Syntax,
} from "./pattern-syntax.js";

/** Beyond it a pattern counts as not understood: `.{5000}` is not worth the memory. */
const MAX_STATES = 4_000;
/** Positions that are kept while a text is read. */
const MAX_POSITIONS = 500;
/** States looked at for one text, less than a tenth of a second of a core. */
const MAX_TEXT_WORK = 200_000;

interface State {
  readonly always: number[];
  /** Passable before the first symbol only, or after the last only. */
  readonly atStart: number[];
  readonly atEnd: number[];
  readonly moves: { readonly set: SymbolSet; readonly to: number }[];
}

/** A set of states that the automaton may be in. */
export interface Position {
  readonly id: number;
  readonly accepting: boolean;
  /** `matched`: whatever follows, it matches. `failed`: whatever follows, it does not. */
  readonly fate: "open" | "matched" | "failed";
  readonly states: readonly number[];
  /** By class of symbols. */
  readonly next: (Position | undefined)[];
}

export class Automaton {
  readonly #states: State[] = [];
  readonly #positions = new Map<string, Position>();
  readonly #final: number;
  /** States from which a match can still be reached once a symbol has been read. */
  readonly #alive: ReadonlySet<number>;
  readonly start: Position;
  /** Steps taken, and states looked at for those that were new: what walking it has cost. */
  work = 0;
  /** Whether it reads a text by UTF-16 units, not by code points. */
  readonly byUnits: boolean;
  readonly #classes: SymbolClasses;

  private constructor(syntax: Syntax, byUnits: boolean) {
    this.byUnits = byUnits;
    const before = this.#add();
    const matched = this.#add();
    // Anything may come before a match and after it.
    this.#state(before).moves.push({ set: EVERY_SYMBOL, to: before });
    this.#state(matched).moves.push({ set: EVERY_SYMBOL, to: matched });
    const entry = this.#add();
    this.#state(before).always.push(entry);
    this.#build(syntax, entry, matched);
    this.#final = matched;
    this.#alive = this.#reachingFinal();
    this.#classes = new SymbolClasses(this.sets());
    this.start = this.#position(this.#close([before], "atStart"), true);
  }

  /** undefined: the pattern is beyond what automata (or memory) can do. */
  static of(pattern: string): Automaton | undefined {
    const syntax = parsePattern(pattern);
    if (syntax === undefined || size(syntax) > MAX_STATES) return undefined;
    return new Automaton(syntax, pattern.startsWith(BY_UNITS));
  }

  /** Every set of symbols that some move depends on. */
  *sets(): Iterable<SymbolSet> {
    for (const state of this.#states) for (const move of state.moves) yield move.set;
  }

  /** From one position to the next over a code point, in the pattern's own reading. */
  over(from: Position, point: number): Position {
    if (!this.byUnits || point < 0x10000) return this.step(from, point);
    const [high, low] = [0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff)];
    return this.step(this.step(from, high), low);
  }

  step(from: Position, symbol: number): Position {
    this.work++;
    const kind = this.#classes.of(symbol);
    let to = from.next[kind];
    if (to === undefined) {
      to = this.#position(this.#close(this.#after(from.states, symbol)));
      from.next[kind] = to;
      this.work += from.states.length + to.states.length;
    }
    return to;
  }

  /** Whether a text matches, in a time that grows with its length and no faster; undefined: not to be known so cheaply. */
  matches(text: string): boolean | undefined {
    let at = this.start;
    const limit = this.work + MAX_TEXT_WORK + text.length;
    for (let i = 0; i < text.length; i++) {
      const symbol = (this.byUnits ? text.charCodeAt(i) : text.codePointAt(i)) as number;
      if (symbol > 0xffff) i++;
      at = this.step(at, symbol);
      if (at.fate !== "open") return at.fate === "matched";
      if (this.work > limit) return undefined;
      if (this.#positions.size > MAX_POSITIONS) at = this.#forgetAllBut(at);
    }
    return at.accepting;
  }

  /** How many positions are kept. */
  get size(): number {
    return this.#positions.size;
  }

  #after(states: Iterable<number>, symbol: number): Set<number> {
    const reached = new Set<number>();
    for (const id of states) {
      for (const move of this.#state(id).moves) if (contains(move.set, symbol)) reached.add(move.to);
    }
    return reached;
  }

  #position(closed: ReadonlySet<number>, first = false): Position {
    const matched = closed.has(this.#final);
    const useful = [...closed].filter((id) => (first || this.#alive.has(id)) && !isPassage(this.#state(id)));
    const states = matched ? [this.#final] : useful.sort((a, b) => a - b);
    // Before the first symbol `^` and `$` may hold at once, so that position is never shared.
    const key = first ? "first" : states.join(",");
    let position = this.#positions.get(key);
    if (position === undefined) {
      const reached = first ? this.#close(closed, "atStart", "atEnd") : this.#close(closed, "atEnd");
      const fate = matched ? "matched" : states.length === 0 ? "failed" : "open";
      position = {
        id: this.#positions.size,
        accepting: reached.has(this.#final),
        fate,
        states,
        next: [],
      };
      this.#positions.set(key, position);
    }
    return position;
  }

  #forgetAllBut(at: Position): Position {
    this.#positions.clear();
    this.start.next.length = 0;
    this.#positions.set("first", this.start);
    const kept = { ...at, id: this.#positions.size, next: [] };
    this.#positions.set(kept.states.join(","), kept);
    return kept;
  }

  #reachingFinal(): Set<number> {
    const sources = this.#states.map((): number[] => []);
    for (const [id, state] of this.#states.entries()) {
      const targets = [...state.always, ...state.atEnd, ...state.moves.map((move) => move.to)];
      for (const to of targets) sources[to]?.push(id);
    }
    const reaching = new Set([this.#final]);
    for (const id of reaching) for (const source of sources[id] ?? []) reaching.add(source);
    return reaching;
  }

  #close(from: Iterable<number>, ...also: readonly ("atStart" | "atEnd")[]): Set<number> {
    const reached = new Set(from);
    for (const id of reached) {
      const state = this.#state(id);
      for (const to of state.always) reached.add(to);
      for (const kind of also) for (const to of state[kind]) reached.add(to);
    }
    return reached;
  }

  #state(id: number): State {
    return this.#states[id] as State;
  }

  #add(): number {
    return this.#states.push({ always: [], atStart: [], atEnd: [], moves: [] }) - 1;
  }

  #build(syntax: Syntax, from: number, to: number): void {
    switch (syntax.type) {
      case "symbols":
        this.#state(from).moves.push({ set: syntax.set, to });
        return;
      case "start":
        this.#state(from).atStart.push(to);
        return;
      case "end":
        this.#state(from).atEnd.push(to);
        return;
      case "choice":
        for (const part of syntax.parts) this.#build(part, from, to);
        return;
      case "sequence":
        this.#chain(syntax.parts, from, to);
        return;
      case "repeat":
        this.#repeat(syntax, from, to);
        return;
    }
  }

  #chain(parts: readonly Syntax[], from: number, to: number): void {
    let at = from;
    for (const part of parts) {
      const next = this.#add();
      this.#build(part, at, next);
      at = next;
    }
    this.#state(at).always.push(to);
  }

  #repeat({ part, min, max }: Extract<Syntax, { type: "repeat" }>, from: number, to: number): void {
    let at = this.#add();
    this.#state(from).always.push(at);
    for (let i = 0; i < min; i++) at = this.#once(part, at);
    this.#state(at).always.push(to);
    if (max === Infinity) {
      const back = this.#once(part, at);
      this.#state(back).always.push(at);
      return;
    }
    for (let i = min; i < max; i++) {
      at = this.#once(part, at);
      this.#state(at).always.push(to);
    }
  }

  #once(part: Syntax, from: number): number {
    const next = this.#add();
    // A part of its own start, so that a loop inside it does not leak into what came before.
    const entry = this.#add();
    this.#state(from).always.push(entry);
    this.#build(part, entry, next);
    return next;
  }
}

/** Symbols that no move tells apart, as one number. */
class SymbolClasses {
  /** Where one class ends and the next begins, ascending. */
  readonly #cuts: readonly number[];
  readonly #ascii: readonly number[];

  constructor(sets: Iterable<SymbolSet>) {
    this.#cuts = [...cutsOf(sets)].sort((a, b) => a - b);
    this.#ascii = Array.from({ length: 128 }, (_, symbol) => this.#find(symbol));
  }

  of(symbol: number): number {
    return this.#ascii[symbol] ?? this.#find(symbol);
  }

  #find(symbol: number): number {
    let [low, high] = [0, this.#cuts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#cuts[middle] as number) <= symbol) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** About how many states a pattern takes. */
function size(syntax: Syntax): number {
  switch (syntax.type) {
    case "symbols":
    case "start":
    case "end":
      return 1;
    case "choice":
    case "sequence":
      return syntax.parts.reduce((sum, part) => sum + size(part), 1);
    case "repeat": {
      const times = syntax.max === Infinity ? syntax.min + 1 : syntax.max;
      return 1 + times * (1 + size(syntax.part));
    }
  }
}

/** A state that only leads on at once needs no place in a position. */
function isPassage(state: State): boolean {
  return state.moves.length === 0 && state.atEnd.length === 0;
}

function contains(set: SymbolSet, symbol: number): boolean {
  return set.some(([low, high]) => low <= symbol && symbol <= high);
}
