/** Numbers and times as people read them. Pure; the present is an argument where it matters. */
import { jsonStart } from "../data/json-start.js";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(n: number): string {
  return whole.format(n);
}

export function plural(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** "3 events", and "50 newest events" where there may be more. */
export function newest(n: number, limit: number, noun: string): string {
  return n < limit ? plural(n, noun) : `${count(n)} newest ${noun}s`;
}

/** 12.4k, 100k, 3.1M; below a thousand one decimal at most. */
export function si(n: number): string {
  const size = Math.abs(n);
  if (size >= 1e9) return `${oneDecimal(n / 1e9)}G`;
  if (size >= 1e6) return `${oneDecimal(n / 1e6)}M`;
  if (size >= 1e4) return `${oneDecimal(n / 1e3)}k`;
  if (size >= 1e3) return count(n);
  if (size >= 100 || Number.isInteger(n)) return String(Math.round(n));
  return n.toFixed(1);
}

function oneDecimal(n: number): string {
  return n.toFixed(1).replace(/\.0$/, "");
}

export function rate(perSecond: number): string {
  return `${si(perSecond < 0.05 ? 0 : perSecond)}/s`;
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = n;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** 41 s, 2 min, 3 h 12 min, 5 d. */
export function duration(seconds: number): string {
  if (seconds < 0.0005) return "0 s";
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1_000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1).replace(/\.0$/, "")} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 || days > 6 ? `${days} d` : `${days} d ${hours % 24} h`;
}

/** In its largest unit alone, where there is little room: 41 s, 3 h, 5 d. */
export function shortDuration(seconds: number): string {
  if (seconds < 3_600) return duration(seconds);
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

export function milliseconds(ms: number): string {
  return ms > 0 && ms < 10
    ? `${ms.toFixed(1)} ms`
    : ms < 1_000
      ? `${Math.round(ms)} ms`
      : duration(ms / 1_000);
}

export function ago(ts: number, nowMs: number): string {
  const seconds = (nowMs - ts) / 1_000;
  if (seconds < -1) return `in ${duration(-seconds)}`;
  if (seconds < 1) return "now";
  return `${duration(Math.floor(seconds))} ago`;
}

const two = (n: number): string => String(n).padStart(2, "0");

/** 2024-05-01 12:00:03.120, in the viewer's zone. */
export function moment(ts: number): string {
  const at = new Date(ts);
  if (Number.isNaN(at.getTime())) return String(ts);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${clock(ts)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** The viewer's zone at that time: "+13:45". */
export function zone(ts: number): string {
  const east = -new Date(ts).getTimezoneOffset();
  if (Number.isNaN(east)) return "";
  const minutes = Math.abs(east);
  return `${east < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

export function clock(ts: number): string {
  const at = new Date(ts);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** "3,210 · 41 s behind · drains in ~2 min" */
export function lagText(o: {
  readonly lag: number;
  readonly lagSeconds: number;
  readonly drainSeconds?: number | null | undefined;
}): string {
  if (o.lag === 0) return "up to date";
  const parts = [count(o.lag), unbroken(`${duration(o.lagSeconds)} behind`)];
  if (typeof o.drainSeconds === "number" && o.drainSeconds > 0)
    parts.push(`drains in ~${duration(o.drainSeconds)}`);
  return parts.join(" · ");
}

export function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Words that stay on one line: no number is left alone without its unit. */
export function unbroken(text: string): string {
  return text.replaceAll(" ", "\u00a0");
}

/** The start of an id, enough to tell it from its neighbours. */
export function shortId(id: string): string {
  return id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

/** Controls, and the marks that turn the direction of what follows: a key could pretend to be another with them. */
const EDGES = /^ +| +$/g;
const UNSEEN = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** Text as it is, with what cannot be seen written out. */
export function visible(text: string): string {
  return text
    .replace(EDGES, (spaces) => "␣".repeat(spaces.length))
    .replace(UNSEEN, (mark) => {
      const escaped = JSON.stringify(mark).slice(1, -1);
      return escaped === mark ? `\\u${(mark.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}` : escaped;
    });
}

/** A payload in one line. However large it is, only what is shown of it is written. */
export function oneLine(value: unknown, max = 240): string {
  // An empty text would look like no payload at all.
  const text = typeof value === "string" && value !== "" ? value : jsonStart(value, max + 1);
  return text.length > max ? `${visible(text.slice(0, max))}…` : visible(text);
}

/** A word for a shell, quoted where it must be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Arguments for a shell, behind all options: one that begins with a dash would be taken for one of these. */
export function shellArguments(...words: readonly string[]): string {
  const said = words.map(shellWord).join(" ");
  return words.some((word) => word.startsWith("-")) ? `-- ${said}` : said;
}
