/**
 * Patterns of JSON Schemas as tests of texts that make nobody wait. Whoever may register a schema, or publish by it, must not be able to
 * stop a process: where an expression engine might take long, the text is read by an automaton, once and letter by letter.
 * For what automata cannot express the engine has a limit of time.
 */
import { createContext, Script } from "node:vm";
import { BusError } from "../model/errors.js";
import { Automaton } from "./automaton.js";
import { quickLength } from "./pattern-cost.js";
import { BY_UNITS } from "./pattern-syntax.js";

const MAX_KEPT = 1_000;
/** The machine itself may stand still for so long, so there is a second try. */
const MAX_MS = 250;
const TRIES = 2;

export class Pattern {
  readonly #expression: RegExp;
  #quickLength: number | undefined;
  #automaton: Automaton | undefined;

  constructor(expression: RegExp) {
    this.#expression = expression;
  }

  /** Whether a text matches, in a time that grows with its length and no faster; undefined: that is not to be known so. */
  test(text: string): boolean | undefined {
    if (this.#quickLength === undefined) this.#prepare();
    if (text.length <= (this.#quickLength as number)) return this.#expression.test(text);
    return this.#automaton?.matches(text);
  }

  /** As `test`; what it cannot know so is asked of the engine, inside `patiently`. */
  ask(text: string): boolean {
    const known = this.test(text);
    if (known !== undefined) return known;
    if (!isTimed) throw new NeedsTime();
    return this.#expression.test(text);
  }

  #prepare(): void {
    const { source, unicode } = this.#expression;
    this.#quickLength = quickLength(source);
    const automaton = Automaton.of(source);
    if (automaton?.byUnits === !unicode) this.#automaton = automaton;
  }
}

const kept = new Map<string, Pattern | undefined>();

/** A JSON Schema pattern, with the `u` flag if it can carry it and says nothing else; undefined if it is none. */
export function patternOf(source: string): Pattern | undefined {
  if (kept.has(source)) return kept.get(source);
  if (kept.size > MAX_KEPT) kept.clear();
  const byUnits = source.startsWith(BY_UNITS);
  const expression = (byUnits ? undefined : compile(source, "u")) ?? compile(source, "");
  const pattern = expression && new Pattern(expression);
  kept.set(source, pattern);
  return pattern;
}

function compile(source: string, flags: string): RegExp | undefined {
  try {
    const expression = new RegExp(source, flags);
    // What is too large for the engine shows when it is first used.
    expression.test("");
    return expression;
  } catch {
    return undefined;
  }
}

/** Thrown and caught in this file. */
class NeedsTime extends Error {
  override readonly name = "NeedsTime";
}

/** What nobody can be made to wait for. */
export class TakesTooLong extends BusError {
  constructor(cause: unknown) {
    super("SCHEMA_VIOLATION", "the schema's patterns take too long over the payload", { cause });
  }
}

let isTimed = false;

/** Does work that asks patterns: at once if it can be, otherwise once more with a limit of time. Throws `TakesTooLong`. */
export function patiently<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof NeedsTime)) throw error;
  }
  return withinTime(work);
}

/** Made once, in milliseconds: a place that has what is to be done, and what does it. */
let clock: { readonly place: { work: () => unknown }; readonly script: Script } | undefined;
const idle = (): undefined => undefined;

function withinTime<T>(work: () => T): T {
  clock ??= { place: createContext({ work: idle }) as { work: () => unknown }, script: new Script("work()") };
  const { place, script } = clock;
  place.work = work;
  isTimed = true;
  try {
    for (let tried = 1; ; tried++) {
      try {
        return script.runInContext(place, { timeout: MAX_MS }) as T;
      } catch (error) {
        if (!isTimeout(error) || tried === TRIES) throw failed(error);
      }
    }
  } finally {
    isTimed = false;
    place.work = idle;
  }
}

function failed(error: unknown): unknown {
  return isTimeout(error) ? new TakesTooLong(error) : error;
}

function isTimeout(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
