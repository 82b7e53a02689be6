/** Those who want to know of a client's status. What one throws keeps neither the others from being told nor the line from being mended. */
import { BusError, describeThrown } from "../model/errors.js";
import type { ClientTrouble } from "./client-options.js";
import type { Status } from "./connection.js";

/** Is told how the line is, and of the error that ended it. */
export type StatusListener = (status: Status, error?: BusError) => void;

export class StatusListeners {
  readonly #listeners = new Set<StatusListener>();
  readonly #onTrouble: (trouble: ClientTrouble) => void;

  constructor(onTrouble: (trouble: ClientTrouble) => void) {
    this.#onTrouble = onTrouble;
  }

  /** Returns how to stop that. */
  add(listener: StatusListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(status: Status, error?: BusError): void {
    for (const listener of this.#listeners) {
      try {
        listener(status, error);
      } catch (thrown) {
        const what = `a listener of onStatus failed: ${describeThrown(thrown)}`;
        this.#onTrouble({ error: new BusError("INTERNAL", what) });
      }
    }
  }
}
