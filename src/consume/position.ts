/** Where in each partition a wish like "latest" or "since noon" points. */
import { BusError } from "../model/errors.js";
import type { Seq } from "../model/event.js";
import type { Log } from "../ports/log.js";

export type Wish =
  | { readonly from: "earliest" }
  | { readonly from: "latest" }
  | { readonly from: "ts"; readonly ts: number }
  /** `elsewhere`: the event may be in another topic; then from its time on. */
  | { readonly from: "afterId"; readonly afterId: string; readonly elsewhere?: boolean };

/** For each partition, the seq after which to begin. */
export async function floorsOf(log: Log, topic: string, wish: Wish): Promise<Seq[]> {
  const heads = await log.heads(topic);
  switch (wish.from) {
    case "earliest":
      return heads.map(({ low }) => low - 1);
    case "latest":
      return heads.map(({ head }) => head);
    case "ts":
      return Promise.all(
        heads.map(async ({ partition }) => (await log.seqAt(topic, partition, wish.ts)) - 1),
      );
    case "afterId":
      return floorsAfter(log, topic, wish, heads.length);
  }
}

/** After the event itself in its own partition, and from its time on in the others, where order has no meaning. */
async function floorsAfter(
  log: Log,
  topic: string,
  { afterId, elsewhere = false }: Extract<Wish, { from: "afterId" }>,
  partitions: number,
): Promise<Seq[]> {
  const event = await log.find(afterId);
  if (event === null || (event.topic !== topic && !elsewhere)) {
    throw new BusError(
      "NOT_FOUND",
      `${topic} has no event ${afterId}; it may have been removed by retention`,
    );
  }
  const floors: Seq[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    const own = event.topic === topic && event.partition === partition;
    floors.push(own ? event.seq : (await log.seqAt(topic, partition, event.ts)) - 1);
  }
  return floors;
}
