/** For verbs that need the bus itself: the store must be given, not a hub. */
import type { Bus } from "../bus/bus.js";
import type { Backend } from "./backend.js";
import { usageError } from "./exit.js";

export function demandBus(backend: Backend, verb: string): Bus {
  if (backend.bus !== undefined) return backend.bus;
  throw usageError(
    `${verb} works on a store, and ${backend.name} is a hub`,
    "name the store: --store <file>, or --store mongodb://…; it may be in use meanwhile",
  );
}
