/** What a job or a background part counts, as people read it: numbers first, names as words, units, and nothing that is zero. */
import { bytes, count, duration, oneLine } from "../../ui/format.js";

const NOTHING = "nothing yet";

export function figureWords(figures: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(figures)
    .map(([name, value]) => wordsOf(name, value, figures))
    .filter((text) => text !== "");
  return words.length === 0 ? NOTHING : words.join(" · ");
}

function wordsOf(name: string, value: unknown, figures: Readonly<Record<string, unknown>>): string {
  if (typeof value === "string")
    return name === "phase" ? phaseWords(value) : `${inWords(name)} ${oneLine(value, 40)}`;
  if (typeof value !== "number" || value === 0 || !Number.isFinite(value)) return "";
  if (name === "total" && typeof figures.events === "number") return "";
  if (name === "events" && typeof figures.total === "number" && figures.total > value)
    return `${count(value)} of ${count(figures.total)} events`;
  if (name === "etaSeconds") return `${duration(value)} left`;
  const [, what = name, unit] = /^(.+?)(Seconds|Ms|Bytes)$/.exec(name) ?? [];
  if (unit === "Bytes") return `${bytes(value)} ${inWords(what)}`;
  if (unit !== undefined) return `${inWords(what)} ${duration(unit === "Ms" ? value / 1_000 : value)}`;
  return `${count(value)} ${value === 1 ? single(inWords(name)) : inWords(name)}`;
}

/** Its end is told by the state. */
function phaseWords(phase: string): string {
  return phase === "done" ? "" : phase;
}

function inWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function single(words: string): string {
  if (words.endsWith("ies")) return `${words.slice(0, -3)}y`;
  if (words.endsWith("sses")) return words.slice(0, -2);
  return words.endsWith("s") && !words.endsWith("ss") ? words.slice(0, -1) : words;
}
