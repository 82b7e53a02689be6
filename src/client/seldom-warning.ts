/** What a client says when nobody listens: of each kind of trouble one warning a minute, with how many were left out. */
import { systemClock } from "../model/clock.js";
import { leftOutText, Seldom } from "../model/seldom.js";
import type { ClientTrouble } from "./client-options.js";

/** A hub that refuses a thousand subscriptions at every reconnect should not fill a log. */
const WARN_EVERY_MS = 60_000;

export function seldomWarning(warn: (text: string, code: string) => void): (trouble: ClientTrouble) => void {
  const seldom = new Seldom(WARN_EVERY_MS);
  return ({ error }) => {
    const leftOut = seldom.admit(error.code, systemClock.steady());
    if (leftOut !== null) warn(`${error.message}${leftOutText(leftOut)}`, error.code);
  };
}
