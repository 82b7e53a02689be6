/** Follows a topic outside any group: what is there after the given places, then what comes, until told to stop. */
import type { Seq, StoredEvent } from "../model/event.js";
import type { Tail } from "./tail.js";

const PAGE = 200;

/** Each partition in its order; `floors` (index = partition) is moved along, so that it always says where to go on. */
export async function* followTopic(
  tail: Tail,
  topic: string,
  floors: Seq[],
  signal: AbortSignal,
): AsyncGenerator<StoredEvent> {
  let wake: () => void = () => undefined;
  const readers = floors.map((_, partition) => tail.listen(topic, partition, () => wake()));
  const onAbort = (): void => wake();
  signal.addEventListener("abort", onAbort);
  try {
    while (!signal.aborted) {
      const grown = new Promise<void>((resolve) => {
        wake = resolve;
      });
      let idle = true;
      for (const [partition, reader] of readers.entries()) {
        const page = await tail.read(reader, floors[partition] as Seq, PAGE);
        for (const event of page.events) {
          if (signal.aborted) return;
          floors[partition] = event.seq;
          yield event;
        }
        floors[partition] = Math.max(floors[partition] as Seq, page.through);
        if (!page.atHead) idle = false;
      }
      if (idle && !signal.aborted) await grown;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    for (const reader of readers) reader.stop();
  }
}
