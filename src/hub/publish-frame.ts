/** PUBLISH frames: what of them is for the bus, and the text of their answers. */
import type { Place, PublishOptions } from "../model/event-bus.js";
import type { Corr, PublishFrame } from "./protocol.js";

/** All of the frame but what is not for the bus: it refuses what it does not know. */
export function publishOptions(frame: PublishFrame): PublishOptions {
  const options: Record<string, unknown> = {};
  for (const name in frame) {
    if (name === "type" || name === "topic" || name === "payload" || name === "corr") continue;
    options[name] = frame[name as keyof PublishFrame];
  }
  return options;
}

/** The answer to a publish, as text: there are many of them. The topic's name was checked, an id may be anybody's. */
export function placedText(corr: Corr | undefined, topic: string, place: Place, duplicate: boolean): string {
  const { id, partition, seq } = place;
  const to = corr === undefined ? "" : `"corr":${typeof corr === "number" ? corr : JSON.stringify(corr)},`;
  const again = duplicate ? ',"duplicate":true' : "";
  return `{"type":"OK",${to}"result":{"id":${JSON.stringify(id)},"topic":"${topic}","partition":${partition},"seq":${seq}${again}}}`;
}
