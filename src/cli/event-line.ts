/** An event as one line for people. */
import type { EventRecord } from "../model/event.js";
import { timeText } from "./quantities.js";
import { clipText, printableText } from "./text-width.js";

/** As wide as the terminal, if there is one: what is long in front of the payload gives way, so that something is seen of each. */
export function eventLine(event: EventRecord, columns = Number.POSITIVE_INFINITY): string {
  const { ts, topic, partition, seq, key, payload } = event;
  const time = columns < ROOM_FOR_DATE ? timeText(ts).replace(DATE, "") : timeText(ts);
  const name = clipText(printableText(topic), columns / 4);
  const of = clipText(printableText(key ?? "–"), columns / 5);
  return clipText(
    `${time}  ${name} ${partition}/${seq}  ${of}  ${printableText(JSON.stringify(payload))}`,
    columns,
  );
}

const ROOM_FOR_DATE = 72;
const DATE = /^\S+T(?=\S+Z$)/;

/** The width of the terminal, if the output is one. */
export function terminalColumns(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}
