/** PUBLISH frames: what of them is for the bus, and the text of their answers. */
import type { Place, PublishedRecord, PublishOptions } from "../../model/event-bus.js";
import { type Corr, MAX_PLACED, type PublishFrame } from "../protocol.js";

/** All of the frame but what is not for the bus: it refuses what it does not know. */
export function publishOptions(frame: PublishFrame): PublishOptions {
  const options: Record<string, unknown> = {};
  for (const name in frame) {
    if (name === "type" || name === "topic" || name === "payload" || name === "corr") continue;
    const value = frame[name as keyof PublishFrame];
    // Plain assignment to that one would give the options members that nobody sees, and that count.
    if (name === "__proto__") Object.defineProperty(options, name, { value, enumerable: true });
    else options[name] = value;
  }
  return options;
}

/** The answer to a publish, as text: there are many of them. The topic's name was checked, an id may be anybody's. */
export function placedText(corr: Corr | undefined, topic: string, place: Place, duplicate: boolean): string {
  const { id, partition, seq } = place;
  const to = corr === undefined ? "" : `"corr":${JSON.stringify(corr)},`;
  const again = duplicate ? ',"duplicate":true' : "";
  return `{"type":"OK",${to}"result":{"id":${JSON.stringify(id)},"topic":"${topic}","partition":${partition},"seq":${seq}${again}}}`;
}

/** The answer to a PUBLISH_MANY: what the answers to a publish of each would say. */
export function placedManyText(corr: Corr | undefined, records: readonly PublishedRecord[]): string {
  const result = records.map(({ id, topic, partition, seq, duplicate }) => {
    return { id, topic, partition, seq, ...(duplicate && { duplicate }) };
  });
  return JSON.stringify({ type: "OK", ...(corr !== undefined && { corr }), result });
}

/** What a run of one answer says. */
export function placedOne(corr: number, topic: string, { partition, seq }: Place): string {
  return `{"type":"PLACED","topic":"${topic}","partition":${partition},"seq":${seq},"corrs":[${corr}]}`;
}

/** Answers to publishes whose events stand one behind the other: one frame. */
export class PlacedRun {
  readonly #topic: string;
  readonly #partition: number;
  readonly #seq: number;
  readonly #corrs: number[];

  constructor(corr: number, topic: string, { partition, seq }: Place) {
    this.#topic = topic;
    this.#partition = partition;
    this.#seq = seq;
    this.#corrs = [corr];
  }

  /** False if it stands elsewhere, or if there are too many: it begins a run of its own. */
  add(corr: number, topic: string, { partition, seq }: Place): boolean {
    const corrs = this.#corrs;
    const isNext = seq === this.#seq + corrs.length && partition === this.#partition && topic === this.#topic;
    if (!isNext || corrs.length === MAX_PLACED) return false;
    corrs.push(corr);
    return true;
  }

  text(): string {
    const at = `"topic":"${this.#topic}","partition":${this.#partition},"seq":${this.#seq}`;
    return `{"type":"PLACED",${at},"corrs":[${this.#corrs.join(",")}]}`;
  }
}
