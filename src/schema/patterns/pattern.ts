/**
 * Patterns of JSON Schemas as tests of texts that make nobody wait. Whoever may register a schema, or publish by it, must not be able to
 * stop a process: where an expression engine might take long, the text is read by an automaton, once and letter by letter.
 * For what automata cannot express the engine has a limit of time.
 */
import { Automaton } from "./automaton.js";
import { quickLength } from "./pattern-cost.js";
import { BY_UNITS } from "./pattern-syntax.js";
import { mayTakeTime } from "./time-limit.js";

const MAX_KEPT = 1_000;

export class Pattern {
  readonly #expression: RegExp;
  #quickLength: number | undefined;
  /** null: automata cannot express it. Made for the first text that needs it: most are short. */
  #automaton: Automaton | null | undefined;

  constructor(expression: RegExp) {
    this.#expression = expression;
  }

  /** Whether a text matches, in a time that grows with its length and no faster; undefined: that is not to be known so. */
  test(text: string): boolean | undefined {
    this.#quickLength ??= quickLength(this.#expression.source);
    if (text.length <= this.#quickLength) return this.#expression.test(text);
    if (this.#automaton === undefined) this.#automaton = automatonOf(this.#expression);
    return this.#automaton?.matches(text);
  }

  /** As `test`; what it cannot know so is asked of the engine, inside `patiently`. */
  ask(text: string): boolean {
    const known = this.test(text);
    if (known !== undefined) return known;
    mayTakeTime();
    return this.#expression.test(text);
  }
}

/** null: there is none that reads a text as the expression does. */
function automatonOf({ source, unicode }: RegExp): Automaton | null {
  const automaton = Automaton.of(source);
  return automaton?.byUnits === !unicode ? automaton : null;
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
