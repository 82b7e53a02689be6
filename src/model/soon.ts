const SETTLED = Promise.resolve();

/**
 * Calls back when what runs now is done, before timers and sockets. `queueMicrotask` keeps an async resource for each call; a
 * reaction of a settled promise does the same for less. The callback must not throw.
 */
export function soon(callback: () => void): void {
  void SETTLED.then(callback);
}

/**
 * In Node: calls back when no reaction of a promise is left. From a reaction Node comes to its ticks when that is so; from the
 * callback of a socket it would come to them first.
 */
export function afterReactions(callback: () => void): void {
  soon(() => process.nextTick(callback));
}
