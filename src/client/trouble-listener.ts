/**
 * Whom a client tells of trouble. When nobody listens: of each kind of trouble one warning a minute, with how many were left out; of
 * tries that failed few are told anyway. A listener that fails is warned of in the same way, and keeps nobody from going on.
 */
import { systemClock } from "../model/clock.js";
import { BusError, describeThrown } from "../model/errors.js";
import { leftOutText, Seldom } from "../model/seldom.js";
import type { ClientTrouble } from "./client-options.js";

/** A hub that refuses a thousand subscriptions at every reconnect should not fill a log. */
const WARN_EVERY_MS = 60_000;

type Listener = (trouble: ClientTrouble) => void;
type Warn = (text: string, code: string) => void;

export function troubleListener(given: Listener | undefined, warn: Warn): Listener {
  const warning = seldomWarning(warn);
  if (given === undefined) return warning;
  if (typeof given !== "function") throw new BusError("INVALID_OPTION", "onTrouble must be a function");
  return (trouble) => {
    try {
      given(trouble);
    } catch (thrown) {
      warning({ error: new BusError("INTERNAL", `onTrouble failed: ${describeThrown(thrown)}`) });
    }
  };
}

function seldomWarning(warn: Warn): Listener {
  const seldom = new Seldom(WARN_EVERY_MS);
  return ({ error, givenUp }) => {
    const isTry = error.code === "HANDLER_FAILED" && !givenUp;
    const leftOut = isTry ? 0 : seldom.admit(error.code, systemClock.steady());
    if (leftOut === null) return;
    // What a handler threw stands in the message.
    const why = givenUp && error.code !== "HANDLER_FAILED" ? `: ${describeThrown(error.cause)}` : "";
    warn(`${error.message}${why}${leftOutText(leftOut)}`, error.code);
  };
}
