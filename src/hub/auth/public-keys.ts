/** Public keys that tokens are checked with, looked at before the hub starts: with one that is none every token would be refused. */
import { createPublicKey, type JsonWebKey } from "node:crypto";
import type { JWK } from "jose";

/** Of tokens signed with a private key. */
export const ASYMMETRIC: readonly string[] = ["RS256", "PS256", "ES256", "ES384", "EdDSA"];
const OF_KIND: Readonly<Record<string, string>> = {
  RSA: "RS256",
  "P-256": "ES256",
  "P-384": "ES384",
  Ed25519: "EdDSA",
};

/** What is wrong with a key; undefined if tokens can be checked with it. */
export function faultOf(key: JWK): string | undefined {
  if (key.kty === "oct" || key.d !== undefined) return "is secret; give the public part alone";
  if (!ASYMMETRIC.includes(key.alg ?? OF_KIND[key.crv ?? key.kty ?? ""] ?? ""))
    return `is for none of ${ASYMMETRIC.join(", ")}`;
  try {
    createPublicKey({ key: key as JsonWebKey, format: "jwk" });
    return undefined;
  } catch {
    return "is no public key";
  }
}
