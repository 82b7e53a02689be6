/** The text of what publishes: put together by hand, since each publish needs one. */
import { systemClock } from "../model/clock.js";
import { BusError, describeThrown } from "../model/errors.js";
import type { PublishItem, PublishOptions } from "../model/event-bus.js";

/** A PUBLISH. It has its id before it is sent, so that it can be sent again. */
export function publishText(
  about: { readonly topic: string; readonly id: string },
  payload: unknown,
  options: PublishOptions,
  corr: number,
): string {
  return `${publishHead(about, options, corr)}${payloadMember(payload)}}`;
}

/** One of a PUBLISH_MANY. It has its id before it is sent, as any other. */
export function eventText(item: PublishItem): string {
  const { payload, id = systemClock.newId(), ...options } = item;
  return `${JSON.stringify({ ...options, id }).slice(0, -1)}${payloadMember(payload)}}`;
}

/** All of it but the payload, still open. */
function publishHead(
  about: { readonly topic: string; readonly id: string },
  options: PublishOptions,
  corr: number,
): string {
  const id = options.id === undefined ? `"${about.id}"` : textOrNull(options.id);
  let head = `{"type":"PUBLISH","corr":${corr},"id":${id},"topic":${JSON.stringify(about.topic)}`;
  if (options.key !== undefined) head += `,"key":${textOrNull(options.key)}`;
  for (const name of Object.keys(options) as (keyof PublishOptions)[]) {
    if (WRITTEN.has(name)) continue;
    if (OF_THE_FRAME.has(name)) throw new BusError("INVALID_OPTION", `publish knows no option "${name}"`);
    const text = JSON.stringify(options[name]);
    if (text !== undefined) head += `,${JSON.stringify(name)}:${text}`;
  }
  return head;
}

/** Options that stand elsewhere in a frame; a payload among them counts nowhere. */
const WRITTEN: ReadonlySet<string> = new Set(["id", "key", "payload"]);
/** What a frame says of itself. Said again by an option it would count as that says: another topic, another's answer. */
const OF_THE_FRAME: ReadonlySet<string> = new Set(["type", "corr", "topic"]);

/** What JSON has no text for is null: the hub says what is wrong, and the message stays one that can be read. */
function textOrNull(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

/** Of what JSON has no text for (undefined, a function) there is none: the hub says what is wrong. */
function payloadMember(payload: unknown): string {
  try {
    const text = JSON.stringify(payload);
    return text === undefined ? "" : `,"payload":${text}`;
  } catch (thrown) {
    throw unwritable(thrown);
  }
}

function unwritable(cause: unknown): BusError {
  const why = `the payload cannot be written as JSON: ${describeThrown(cause)}`;
  return new BusError("INVALID_PAYLOAD", why, { cause });
}
