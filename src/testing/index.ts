/** What a driver author, or anybody who doubts, needs: `promethean/testing`. */
export { ManualClock, type ManualClockOptions } from "../model/manual-clock.js";
export { describeStore, type StoreFixture, type StoreUnderTest } from "./conformance/index.js";
export * from "./faulty-store/index.js";
export * from "./history/index.js";
export * from "./simulator/index.js";
