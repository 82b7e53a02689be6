import { SignJWT } from "jose";
import { expect, it } from "vitest";
import { isSignedWith } from "./token-signature.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const SECRET = bytes("a secret of thirty-two bytes or more");
const OTHER = bytes("another secret of as many bytes or more");

it("a token is known by its secret, also one that is not good yet, or no longer", async () => {
  const unsigned = (): SignJWT => new SignJWT({}).setProtectedHeader({ alg: "HS256" });
  const early = await unsigned().setNotBefore("1h").setExpirationTime("2h").sign(SECRET);
  const late = await unsigned().setExpirationTime("-1h").sign(SECRET);
  for (const token of [early, late]) {
    expect(await isSignedWith(SECRET, token)).toBe(true);
    expect(await isSignedWith(OTHER, token)).toBe(false);
  }
});
