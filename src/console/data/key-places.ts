/** Where a key is: the views that have a document of it, and the topics that find its events by index. The others would have to be walked through. */
import { useEffect, useState } from "preact/hooks";
import { call, seg, withQuery } from "./api.js";
import type { Items, TopicRow, ViewInfo } from "./shapes.js";

export interface KeyPlace {
  readonly kind: "view" | "topic";
  readonly name: string;
}

/** Of each kind: whoever has more of them goes to the view or the topic first. */
const MAX_ASKED = 20;
const SETTLE_MS = 150;

/** Looks while one types, once the text rests; what was found for an earlier text is forgotten. */
export function useKeyPlaces(
  key: string | null,
  views: readonly ViewInfo[],
  topics: readonly TopicRow[],
): readonly KeyPlace[] {
  const [found, setFound] = useState<{ readonly key: string; readonly places: readonly KeyPlace[] } | null>(
    null,
  );
  useEffect(() => {
    if (key === null) return;
    const over = new AbortController();
    const timer = setTimeout(() => {
      const asked = [
        ...views.slice(0, MAX_ASKED).map(({ view }): KeyPlace => ({ kind: "view", name: view })),
        ...topics
          .filter(isByKey)
          .slice(0, MAX_ASKED)
          .map(({ name }): KeyPlace => ({ kind: "topic", name })),
      ];
      void Promise.all(asked.map((place) => isAt(place, key, over.signal))).then((answers) => {
        if (!over.signal.aborted) setFound({ key, places: asked.filter((_, i) => answers[i]) });
      });
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      over.abort();
    };
  }, [key, views.length, topics.length]);
  return found !== null && found.key === key ? found.places : [];
}

/** Whether a topic finds the events of a key without being walked through. */
export function isByKey({ keyed, compaction }: TopicRow): boolean {
  return keyed === true || compaction === true;
}

/** False also where it cannot be told: what is listed was found. */
async function isAt({ kind, name }: KeyPlace, key: string, signal: AbortSignal): Promise<boolean> {
  try {
    if (kind === "view") {
      const path = withQuery(`/snap/${seg(name)}`, { "where._key": JSON.stringify(key), limit: 1 });
      return (await call<Items<unknown>>(path, { signal })).items.length > 0;
    }
    const path = withQuery("/latest-by-key", { topic: name, key });
    return Object.values((await call<{ events: Record<string, unknown> }>(path, { signal })).events).some(
      Boolean,
    );
  } catch {
    return false;
  }
}
