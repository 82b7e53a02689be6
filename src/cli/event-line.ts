/** An event as one line for people. */
import type { EventRecord } from "../model/event.js";
import { timeText } from "./quantities.js";
import { clipText, printableText } from "./text-width.js";

export function eventLine(event: EventRecord, columns?: number): string {
  const { ts, topic, partition, seq, key, payload } = event;
  const text = `${timeText(ts)}  ${topic} ${partition}/${seq}  ${key ?? "–"}  ${JSON.stringify(payload)}`;
  const line = printableText(text);
  return columns === undefined ? line : clipText(line, columns);
}

/** The width of the terminal, if the output is one. */
export function terminalColumns(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}
