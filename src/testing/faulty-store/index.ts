export type { CallKind, CallName, StoreCall, StorePart } from "../store-calls.js";
export {
  combinedFaults,
  type Fault,
  type FaultPlan,
  type FaultRates,
  type FaultType,
  type ScheduledFault,
  type SeededFaultOptions,
  type SeededFaults,
  type SignalFault,
  scheduledFaults,
  seededFaults,
} from "./fault-plan.js";
export { type FaultyStore, type FaultyStoreOptions, faultyStore, type Injected } from "./faulty-store.js";
