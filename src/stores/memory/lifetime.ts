/** Whether the store may be used. Closed, every call fails with CLOSED until it is opened again; the data stays. */
import { BusError } from "../../model/errors.js";

export class Lifetime {
  #closed = false;

  open(): void {
    this.#closed = false;
  }

  close(): void {
    this.#closed = true;
  }

  check(): void {
    if (this.#closed) throw new BusError("CLOSED", "the memory store is closed");
  }
}
