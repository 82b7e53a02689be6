/** How many dead letters are open, by counts alone, without reading them: those there are, less those of which an outcome is written down. */
import { deadLetterTopic } from "../../model/topic.js";
import type { Store } from "../../ports/store.js";
import { outcomesView } from "./letter-reading.js";

/** Of topics that have open ones, by topic. */
export async function countOpenLetters(
  { documents, log }: Store,
  topics: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const settled = new Map((await documents.views()).map(({ view, documents: count }) => [view, count]));
  const heads = await log.headsOf(topics.map(deadLetterTopic));
  const open = topics.map((topic): [string, number] => {
    const stored = (heads.get(deadLetterTopic(topic)) ?? []).reduce((sum, { events }) => sum + events, 0);
    return [topic, stored - (settled.get(outcomesView(topic)) ?? 0)];
  });
  return new Map(open.filter(([, count]) => count > 0));
}
