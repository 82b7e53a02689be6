/** The rights in the claims of a token: `scopes` (a list), `scope` (separated by spaces), `policy: { rules }`. */
import { BusError } from "../model/errors.js";
import type { Grants, Rule } from "./acl.js";

/** A token that says nothing may do nothing. Throws if its policy is none: passed over, its denials would not count. */
export function grantsOf(claims: Readonly<Record<string, unknown>>): Required<Grants> {
  const { scopes, scope } = claims;
  const words = String(scope ?? "").split(" ");
  return {
    scopes: Array.isArray(scopes) ? scopes.map(String) : words.filter((word) => word !== ""),
    rules: rulesOf(claims["policy"] ?? undefined),
  };
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
