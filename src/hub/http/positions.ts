/** Places and times as they stand in a URL. */
import { z } from "@hono/zod-openapi";
import type { Position } from "../../project/topic-position.js";
import { HubError } from "../problem.js";

/** "earliest", "latest", a time (milliseconds or ISO 8601), "id:<event>" or "seq:<n>". */
export function parsePosition(text: string): Position {
  if (text === "earliest" || text === "latest") return text;
  if (text.startsWith("id:")) return { id: text.slice(3) };
  if (/^seq:\d{1,15}$/.test(text)) return { seq: Number(text.slice(4)) };
  return { ts: timeIn(text, 'neither "earliest", "latest", "id:…", "seq:…" nor a time') };
}

export function parseTime(text: string): number {
  return timeIn(text, "no time");
}

function timeIn(text: string, unlike: string): number {
  const ts = /^\d{1,16}$/.test(text) ? Number(text) : isoTime(text);
  if (Number.isNaN(ts))
    throw new HubError("BAD_REQUEST", `"${text.slice(0, 60)}" is ${unlike} (milliseconds or ISO 8601)`);
  return ts;
}

/** A "+" of a time zone reaches us as a space where it was not encoded. */
function isoTime(text: string): number {
  return /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text.replace(/ (?=\d\d:\d\d$)/, "+")) : Number.NaN;
}

/** A place as it stands in a JSON body. */
export const PositionBody = z.union([
  z.enum(["earliest", "latest"]),
  z.strictObject({ ts: z.number() }),
  z.strictObject({ id: z.string() }),
  z.strictObject({ seq: z.number().int().min(0), partition: z.number().int().min(0).optional() }),
  z.strictObject({ floors: z.array(z.number().int().min(0)) }),
]);

/** What a checked body means, without the absent members. */
export function positionOf(body: z.output<typeof PositionBody>): Position {
  return JSON.parse(JSON.stringify(body)) as Position;
}

export const Count = (max: number) => z.coerce.number().int().min(1).max(max);
export const Flag = z.enum(["true", "false"]).transform((text) => text === "true");
export const Partition = z.coerce.number().int().min(0);

/** BAD_REQUEST for one that the topic does not have. */
export function checkPartition(topic: string, partition: number, partitions: number): void {
  if (partition >= partitions)
    throw new HubError("BAD_REQUEST", `${topic} has partitions 0 to ${partitions - 1}, not ${partition}`);
}
