/** What the crash run's processes agree on. */
export const TOPIC = "crash.events";
export const PARTITIONS = 2;
export const CONSUMERS = "consumers";
export const PROJECTION = "projection";
export const VIEW = "counts";
