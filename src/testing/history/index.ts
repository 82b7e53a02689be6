export type { Anomaly, AnomalyClass } from "./anomaly.js";
export type { Fold } from "./check-logs.js";
export { type CheckOptions, checkHistory } from "./checker.js";
export type { EndState, Located } from "./end-state.js";
export {
  type DeadLetterOrigin,
  type EffectOrigin,
  type GroupPlace,
  type Handling,
  type HistoryEvent,
  historyHash,
  type LoggedEvent,
  Recorder,
} from "./history.js";
