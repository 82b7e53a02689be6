/** The rights in the claims of a token: `scopes` or `scope` (a list, or separated by spaces), `policy: { rules }`. */
import { BusError } from "../../model/errors.js";
import { type Grants, type Rule, VERBS } from "./acl.js";

/** A token that says nothing may do nothing. Throws if a claim is none of these: passed over, denials would not count. */
export function grantsOf(claims: Readonly<Record<string, unknown>>): Required<Grants> {
  const { scopes, scope, policy } = claims;
  const words =
    scopes === undefined || scopes === null ? scopesOf(scope ?? []).filter(isOurs) : scopesOf(scopes);
  return { scopes: words, rules: rulesOf(policy ?? undefined) };
}

/** The claim `scope` is everybody's: "openid" or "profile" mean something to others. A lone verb is a scope of ours that was miswritten. */
function isOurs(word: string): boolean {
  return word.includes(":") || VERBS.has(word);
}

function scopesOf(claim: unknown): readonly string[] {
  if (Array.isArray(claim)) return claim.map(String);
  if (typeof claim === "string") return claim.split(" ").filter((word) => word !== "");
  throw new BusError("INVALID_OPTION", "the claim scopes is a list, or words separated by spaces");
}

function rulesOf(policy: unknown): readonly Rule[] {
  if (policy === undefined) return [];
  const { rules } = policy as { rules?: readonly Rule[] };
  if (!Array.isArray(rules))
    throw new BusError(
      "INVALID_OPTION",
      'the claim policy is { "rules": [{ effect, verbs, resources }, …] }',
    );
  return rules;
}
