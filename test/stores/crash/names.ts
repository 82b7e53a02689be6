/** What the crash run's processes agree on. */
export const TOPIC = "crash.events";
export const PARTITIONS = 2;
export const CONSUMERS = "consumers";
export const PROJECTION = "projection";
export const VIEW = "counts";

/** Events that the consumers can do nothing with: they become dead letters. */
export const POISON = "poison-";

export function isPoison(id: string): boolean {
  return id.startsWith(POISON);
}
