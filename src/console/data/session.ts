/** Who looks, and what they may do: what a token may not do is not offered. */
import { computed, effect, signal } from "@preact/signals";
import { call } from "./api.js";
import { dropToken, followLink, keepToken, token } from "./credentials.js";
import { failed, heard, offlineSinceMs } from "./live.js";
import { type Problem, problemFrom } from "./problem.js";
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
  /** `problem`: the token that was given is not taken; `isOver`: the one that was in use has run out. */
  | { readonly kind: "out"; readonly problem?: Problem; readonly isOver?: true }
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

let again: ReturnType<typeof setTimeout> | undefined;

/** Asks the hub who a token belongs to. Stays unknown, and tries again, while the hub is not there. */
export async function identify(): Promise<void> {
  clearTimeout(again);
  const asked = token.peek();
  try {
    const identity = await call<Identity>("/whoami");
    heard();
    if (token.peek() === asked) session.value = { kind: "in", who: identity };
  } catch (error) {
    const problem = problemFrom(error);
    failed(problem);
    const given = token.peek();
    if (problem.isOffline) again = setTimeout(() => void identify(), RETRY_MS);
    // Another one was given meanwhile; one that is not known is gone by now.
    else if (given === asked || given === null)
      session.value = { kind: "out", ...(asked !== null && { problem }) };
  }
}

let answering: Promise<void> | undefined;

/** Resolves once the hub answers, whatever it says. */
export function hubAnswers(): Promise<void> {
  answering ??= untilAnswered().finally(() => {
    answering = undefined;
  });
  return answering;
}

async function untilAnswered(): Promise<void> {
  for (;;) {
    const problem = await call("/whoami").then(() => undefined, problemFrom);
    if (problem === undefined) return heard();
    failed(problem);
    if (!problem.isOffline) return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

export async function signIn(given: string, forThisBrowser: boolean): Promise<void> {
  keepToken(given, forThisBrowser);
  await identify();
}

export function signOut(): void {
  session.value = { kind: "out" };
  dropToken();
  // Whether it is there again would be found out by nobody else.
  if (offlineSinceMs.peek() !== null) void identify();
}

addEventListener("hashchange", () => {
  if (followLink()) void identify();
});

// A token that ran out while one looked.
effect(() => {
  if (token.value === null && session.peek().kind === "in" && who.peek()?.hub?.open !== true)
    session.value = { kind: "out", isOver: true };
});
