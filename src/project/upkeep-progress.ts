/** How far upkeep has come with a topic, in the registry: see log-compactor and snapshot. */
import { BusError } from "../model/errors.js";
import type { Registry } from "../ports/registry.js";

/** Of one partition. */
export function progressToken(kind: "compaction" | "snapshot", topic: string, partition: number): string {
  return `${prefixOf(kind, topic)}${partition}`;
}

/** The topic is gone. What is left after a crash does no harm: its seqs go on if it comes back. */
export async function forgetUpkeep(registry: Registry, topic: string): Promise<void> {
  for (const kind of ["compaction", "snapshot"] as const) {
    for (const [name, { revision }] of await registry.tokens(prefixOf(kind, topic))) {
      try {
        await registry.putToken(name, null, { expected: revision });
      } catch (error) {
        // A round is under way that began before.
        if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
      }
    }
  }
}

function prefixOf(kind: string, topic: string): string {
  return `${kind}:${topic}:`;
}
