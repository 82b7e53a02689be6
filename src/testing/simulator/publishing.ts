/** A publish with its question and its answer written down. */
import { BusError } from "../../model/errors.js";
import type { PublishedRecord } from "../../model/event-bus.js";
import type { SimulatedPayload } from "./naming.js";
import type { World } from "./world.js";

export async function askToPublish(
  world: World,
  producer: string,
  topic: string,
  payload: SimulatedPayload,
  key: string | undefined,
  publish: () => Promise<PublishedRecord>,
): Promise<PublishedRecord> {
  const op = noteAsked(world, producer, topic, payload, key);
  try {
    const record = await publish();
    noteOk(world, op, record);
    return record;
  } catch (error) {
    noteFailure(world, op, BusError.from(error));
    throw error;
  }
}

export function noteAsked(
  world: World,
  producer: string,
  topic: string,
  payload: SimulatedPayload,
  key: string | undefined,
): number {
  const op = world.recorder.nextOp();
  const { name: id } = payload;
  world.recorder.record({
    type: "publish-asked",
    op,
    producer,
    topic,
    id,
    ...(key !== undefined && { key }),
  });
  return op;
}

export function noteOk(world: World, op: number, record: PublishedRecord): void {
  const { partition, seq } = record;
  world.recorder.record({ type: "publish-ok", op, partition, seq, duplicate: record.duplicate === true });
}

export function noteFailure(world: World, op: number, { code }: { readonly code: string }): void {
  const type = code === "OUTCOME_UNKNOWN" ? "publish-unknown" : "publish-failed";
  world.recorder.record({ type, op, code });
}
