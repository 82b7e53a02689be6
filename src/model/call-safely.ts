/** Listeners are the caller's code: one that throws must keep no other from hearing. */

/** Runs `call`; what it throws surfaces as an uncaught error of its own, and the others still hear. */
export function callSafely(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
