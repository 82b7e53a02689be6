/**
 * Tokens that were found good a moment ago, so that a publisher's signature is not worked out anew with each request. Never
 * longer than the token itself lasts, and never long: what changes elsewhere (a key that was withdrawn) counts soon.
 */
import type { Caller } from "./auth.js";

const MAX_TOKENS = 10_000;

export class RememberedTokens {
  readonly #forMs: number;
  readonly #callers = new Map<string, { readonly caller: Caller; readonly untilMs: number }>();

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  find(token: string, nowMs: number): Caller | undefined {
    const found = this.#callers.get(token);
    if (found === undefined || nowMs < found.untilMs) return found?.caller;
    this.#callers.delete(token);
    return undefined;
  }

  add(token: string, caller: Caller, nowMs: number): void {
    if (this.#callers.size >= MAX_TOKENS) this.#callers.clear();
    this.#callers.set(token, { caller, untilMs: Math.min(caller.expiresMs, nowMs + this.#forMs) });
  }
}
