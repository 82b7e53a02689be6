import type { Store } from "../../src/ports/store.js";

export interface HeldTrim {
  /** Somebody is about to take events away. */
  readonly reached: Promise<void>;
  letGo(): void;
}

/** The next trim of a store's log begins only when it is let go. */
export function holdTrim({ log }: Pick<Store, "log">): HeldTrim {
  const trim = log.trim;
  let onReached = (): void => undefined;
  let letGo = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    onReached = resolve;
  });
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  log.trim = async (...args) => {
    log.trim = trim;
    onReached();
    await held;
    return trim.apply(log, args);
  };
  return { reached, letGo };
}
