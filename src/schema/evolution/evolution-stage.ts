/**
 * Where a topic stands on its way to the newest version of its schema, from what is written. Pure.
 *
 *   settled → registered → dual-writing → cutting-over → cut-over → settled
 *
 * The way without a dual write leaves that stage out.
 */

export type EvolutionStage =
  /** Nothing is written yet. */
  | "unused"
  /** Everything that was looked at is of the newest version. */
  | "settled"
  /** The newest version is registered, and nobody writes it. */
  | "registered"
  /** Publishers write an older version, and its newest form goes to `<topic>.vN`. */
  | "dual-writing"
  /** Some publishers write the newest version, others an older one. */
  | "cutting-over"
  /** Publishers write the newest version; older events are still in the log. */
  | "cut-over";

export interface EvolutionFacts {
  readonly topic: string;
  readonly latest: number;
  /** Events that were looked at, by version; "none" for those that do not say. */
  readonly counts: Readonly<Record<string, number>>;
  /** Versions of the newest event of each partition. */
  readonly writing: readonly string[];
  /** The topic `<topic>.v<latest>`, if there is one, and how many of the newest events it lacks. */
  readonly second?: { readonly topic: string; readonly missing: number };
}

export function stageOf({ latest, counts, writing, second }: EvolutionFacts): EvolutionStage {
  const newest = String(latest);
  if (writing.length === 0) return "unused";
  const writes = writing.includes(newest);
  if (writes && writing.some((version) => version !== newest)) return "cutting-over";
  if (writes) return Object.keys(counts).some((version) => version !== newest) ? "cut-over" : "settled";
  return second === undefined ? "registered" : "dual-writing";
}

/** The stage in a sentence, with what comes next. */
export function stageSentence(facts: EvolutionFacts): string {
  const { topic, latest, counts, second } = facts;
  const written = Object.entries(counts)
    .map(
      ([version, count]) => `${count} ${version === "none" ? "without a version" : `of version ${version}`}`,
    )
    .join(", ");
  switch (stageOf(facts)) {
    case "unused":
      return `${topic} has version ${latest} and no events.`;
    case "settled":
      return second === undefined
        ? `${topic} is written in version ${latest} alone.`
        : `${topic} is written in version ${latest} alone; ${second.topic} is no longer needed once its readers have moved.`;
    case "registered":
      return `${topic} has version ${latest}, and nobody writes it (${written}): let readers normalise, and write both or cut over.`;
    case "dual-writing":
      return second?.missing
        ? `${topic} is written twice, and ${second.topic} lacks ${second.missing} of the newest events: start the mirror and let it catch up.`
        : `${topic} is written twice and ${second?.topic} is complete (${written}): when all readers take version ${latest}, cut over.`;
    case "cutting-over":
      return `${topic} is written in several versions (${written}): bring the remaining publishers to version ${latest}.`;
    case "cut-over":
      return second === undefined
        ? `${topic} is written in version ${latest}; older events are still in the log (${written}), so readers go on normalising.`
        : `${topic} is written in version ${latest} (${written}): move the readers of ${second.topic} and stop the dual write.`;
  }
}
