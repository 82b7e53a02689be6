/**
 * How long an expression engine may take over a text. Engines try one way after another: of `(a|a)*b` each letter doubles their number,
 * of `a*a*b` it is the square of the length. Here the steps are counted, at most and in the worst case.
 */
import { parsePattern, type Syntax } from "./pattern-syntax.js";

/** Steps over one text that nobody notices. */
const QUICK_STEPS = 10_000;
/** Or so many for each place in it, however long it is. */
const QUICK_STEPS_A_PLACE = 32;
const LONGEST = 2 ** 30;

/** Up to which length of a text an engine is quick. */
export function quickLength(source: string): number {
  const syntax = parsePattern(source) ?? parsePattern(inPlainWords(source));
  if (syntax === undefined) return 0;
  const isAnchored = startsAnchored(syntax);
  let quick = 0;
  for (let length = 1; length <= LONGEST; length *= 2) {
    const steps = costOf(syntax, length).steps * (isAnchored ? 1 : length + 1);
    if (!(steps <= Math.max(QUICK_STEPS, QUICK_STEPS_A_PLACE * length))) break;
    quick = length;
  }
  return quick;
}

/** In how many ways a part can go through a text, and the steps of all of them. */
interface Cost {
  readonly ways: number;
  readonly steps: number;
}

function costOf(syntax: Syntax, length: number): Cost {
  switch (syntax.type) {
    case "symbols":
    case "start":
    case "end":
      return { ways: 1, steps: 1 };
    case "choice":
      return syntax.parts
        .map((part) => costOf(part, length))
        .reduce((sum, part) => ({ ways: sum.ways + part.ways, steps: sum.steps + part.steps }));
    case "sequence":
      return syntax.parts.map((part) => costOf(part, length)).reduce(followed, { ways: 1, steps: 0 });
    case "repeat":
      return repeated(costOf(syntax.part, length), syntax.min, Math.min(syntax.max, length));
  }
}

/** What comes second is gone through once for each way of the first. */
function followed(first: Cost, second: Cost): Cost {
  return { ways: first.ways * second.ways, steps: first.steps + first.ways * second.steps };
}

function repeated({ ways, steps }: Cost, min: number, times: number): Cost {
  const passes = ways === 1 ? times : (ways ** times - 1) / (ways - 1);
  return { ways: ways ** times * Math.max(1, times - min + 1), steps: 1 + steps * passes };
}

/** Whether it can begin at one place only. */
function startsAnchored(syntax: Syntax): boolean {
  if (syntax.type === "choice") return syntax.parts.every(startsAnchored);
  if (syntax.type !== "sequence") return syntax.type === "start";
  const first = syntax.parts.find((part) => part.type !== "sequence" || part.parts.length > 0);
  return first !== undefined && startsAnchored(first);
}

/** What only an engine understands, in words that have as many ways, though they take other texts. */
function inPlainWords(source: string): string {
  return source.replace(ENGINE_WORDS, (word) => {
    if (word.startsWith("(")) return "(?:";
    if (/^\\(?:[1-9]|k<)/.test(word)) return "(?:x*)";
    return PLAIN_ESCAPE.test(word) ? word : "x";
  });
}

const ENGINE_WORDS =
  /\(\?<?[=!]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|k<[^>]*>|c[A-Za-z]|[1-9]\d*|.)|[\ud800-\udfff]/gs;
const PLAIN_ESCAPE = /^\\[dDwWsStnvfrxu^$\\.*+?()[\]{}|/]$/;
