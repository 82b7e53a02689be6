/** `promethean/testing` for `require`: all of it that no test runner is needed for. */
export { ManualClock, type ManualClockOptions } from "../model/manual-clock.js";
export * from "./faulty-store/index.js";
export * from "./history/index.js";
export * from "./simulator/index.js";
