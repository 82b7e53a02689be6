/** What a test of handlers, or anybody who doubts, needs: `promethean/testing`. It runs under any test runner. */
export { ManualClock, type ManualClockOptions } from "../model/manual-clock.js";
export * from "./faulty-store/index.js";
export * from "./history/index.js";
export * from "./simulator/index.js";
