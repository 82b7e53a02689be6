/** Whether a token was signed with a secret, whatever else it says: of when it is good, others tell. */
export async function isSignedWith(secret: Uint8Array, token: string): Promise<boolean> {
  const { compactVerify } = await import("jose");
  return await compactVerify(token, secret, { algorithms: ["HS256"] }).then(
    () => true,
    () => false,
  );
}
