/** The rights in the claims of a token: `scopes` or `scope` (a list, or separated by spaces), `policy: { rules }`. */
import { BusError } from "../model/errors.js";
import type { Grants, Rule } from "./acl.js";

/** A token that says nothing may do nothing. Throws if a claim is none of these: passed over, denials would not count. */
export function grantsOf(claims: Readonly<Record<string, unknown>>): Required<Grants> {
  const { scopes, scope, policy } = claims;
  return { scopes: scopesOf(scopes ?? scope ?? []), rules: rulesOf(policy ?? undefined) };
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
