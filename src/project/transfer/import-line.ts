/** A line of an import: what it says, as something to publish. */
import { derivedId } from "../../model/derived-id.js";
import { BusError } from "../../model/errors.js";
import type { PublishItem } from "../../model/event-bus.js";
import type { Mutable } from "../../model/mutable.js";
import type { TopicRef } from "../../model/topic.js";
import { lineError, type NdjsonLine } from "./ndjson.js";

export interface ImportLine {
  readonly number: number;
  readonly topic: TopicRef;
  readonly item: PublishItem;
}

export interface LineOptions {
  readonly topic?: TopicRef;
  readonly keepPartitions?: boolean;
  readonly resume?: string;
}

type Line = Partial<PublishItem> & { readonly topic?: string };

/** What a line names besides its payload, its id and its partition. Null counts as not given. */
const OPTIONAL = ["ts", "key", "headers", "tags", "caused_by", "sid"] as const;

export function importLine({ number, text }: NdjsonLine, options: LineOptions): ImportLine {
  const line = parse(number, text);
  const topic = options.topic ?? line.topic;
  if (typeof topic !== "string" && typeof topic !== "object") {
    throw lineError(number, new BusError("INVALID_TOPIC", 'it names no "topic", and none was given'));
  }
  if (!("payload" in line)) throw lineError(number, invalid('it has no "payload"'));
  // Member by member: this is done for every event.
  const item: Mutable<PublishItem> = { payload: line.payload };
  const given = item as Record<string, unknown>;
  for (const name of OPTIONAL) if (line[name] != null) given[name] = line[name];
  const id = line.id === undefined ? idOf(number, text, options) : line.id;
  if (id !== undefined) item.id = id;
  if (options.keepPartitions && line.partition !== undefined) item.partition = line.partition;
  return { number, topic, item };
}

/** A line without an id is new each time, unless the import has a name: then the line's place and text make one. */
function idOf(number: number, text: string, { resume }: LineOptions): string | undefined {
  return resume === undefined ? undefined : derivedId(`import ${resume}`, text, number);
}

function parse(number: number, text: string): Line {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw lineError(number, new BusError("INVALID_PAYLOAD", "it is not JSON", { cause: error }));
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Line;
  throw lineError(number, invalid("it is not an object with an event's fields"));
}

function invalid(message: string): BusError {
  return new BusError("INVALID_PAYLOAD", message);
}
