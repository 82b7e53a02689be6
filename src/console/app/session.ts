/** Who looks, and what they may do: what a token may not do is not offered. */
import { computed, effect, signal } from "@preact/signals";
import { call } from "../data/api.js";
import { dropToken, followLink, keepToken, token } from "../data/credentials.js";
import { heard, unheard } from "../data/live.js";
import { type Problem, problemFrom } from "../data/problem.js";
import { allows, type Rule, readingReach, type Verb } from "./rights.js";

export interface Identity {
  readonly subject: string;
  readonly rules: readonly Rule[];
  readonly expiresMs: number | null;
  /** The hub's name and store, and whether it asks for tokens at all. */
  readonly hub?: { readonly name: string; readonly store: string; readonly open: boolean };
}

export type Session =
  | { readonly kind: "unknown" }
  | { readonly kind: "out"; readonly problem?: Problem }
  | { readonly kind: "in"; readonly who: Identity };

export const session = signal<Session>({ kind: "unknown" });
export const who = computed(() => (session.value.kind === "in" ? session.value.who : null));

const RETRY_MS = 1_500;

/** Whether the one who looks may do this; `ops` takes the name of an action. */
export function may(verb: Verb, resource: string): boolean {
  const rules = who.value?.rules;
  return rules !== undefined && allows(rules, verb, resource);
}

/** How many of all topics the one who looks may read. */
export function reach(): ReturnType<typeof readingReach> {
  return readingReach(who.value?.rules ?? []);
}

/** Asks the hub who a token belongs to. Stays unknown, and tries again, while the hub is not there. */
export async function identify(): Promise<void> {
  const asked = token.peek();
  try {
    const identity = await call<Identity>("/whoami");
    heard();
    if (token.peek() === asked) session.value = { kind: "in", who: identity };
  } catch (error) {
    const problem = problemFrom(error);
    if (problem.isOffline) {
      unheard();
      setTimeout(() => void identify(), RETRY_MS);
      return;
    }
    heard();
    if (token.peek() !== asked) return;
    session.value = { kind: "out", ...(asked !== null && { problem }) };
    if (asked !== null) dropToken();
  }
}

export async function signIn(given: string, forThisBrowser: boolean): Promise<void> {
  keepToken(given, forThisBrowser);
  await identify();
}

export function signOut(): void {
  dropToken();
  session.value = { kind: "out" };
}

addEventListener("hashchange", () => {
  if (followLink()) void identify();
});

// A token that ran out while one looked.
effect(() => {
  if (token.value === null && session.peek().kind === "in" && who.peek()?.hub?.open !== true)
    session.value = { kind: "out" };
});
