/**
 * Whether a dead letter was overtaken on a compacted topic: coming back, it would become the key's newest value. What came
 * back itself counts as the event that it was, and for the group that got it: others wait for it still.
 */
import { comebackId } from "../../model/derived-id.js";
import type { StoredEvent } from "../../model/event.js";
import { firstSeqOf } from "../../model/redrive.js";
import { REDRIVE_GROUP_HEADER } from "../../model/topic.js";
import type { Log } from "../../ports/log.js";
import { newestFirst } from "../history/time-travel.js";
import type { Letter } from "./dead-letters.js";

/** `target`: where it is to go. */
export async function isSuperseded(log: Log, letter: Letter, target: string): Promise<boolean> {
  const { key, event, origin } = letter;
  if (key === undefined) return false;
  for await (const newest of newestFirst(log, target, key)) {
    const group = newest.meta?.headers?.[REDRIVE_GROUP_HEADER];
    if (group !== undefined && group !== origin.group) continue;
    const there = target === origin.topic ? newest : await sourceOf(log, newest, origin.topic);
    return there?.partition !== origin.partition || firstSeqOf(there.record) > firstSeqOf(event);
  }
  return false;
}

/** The event of `topic` that came to another one as a dead letter; null if it is something else, or no longer there. */
async function sourceOf(log: Log, event: StoredEvent, topic: string): Promise<StoredEvent | null> {
  const [letterId, sourceId] = event.meta?.caused_by ?? [];
  if (letterId === undefined || sourceId === undefined) return null;
  if (event.id !== comebackId(letterId, event.topic)) return null;
  const source = await log.find(sourceId);
  return source?.topic === topic ? source : null;
}
