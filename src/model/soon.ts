const SETTLED = Promise.resolve();

/**
 * Calls back when what runs now is done, before timers and sockets. `queueMicrotask` keeps an async resource for each call; a
 * reaction of a settled promise does the same for less. The callback must not throw.
 */
export function soon(callback: () => void): void {
  void SETTLED.then(callback);
}
