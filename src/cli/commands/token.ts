/** `promethean token`: tokens that a hub with a JWT secret takes. */
import { type Command, Option } from "commander";
import { Acl, type Grants, type Rule } from "../../hub/auth/acl.js";
import { grantsOf } from "../../hub/auth/claims.js";
import { BusError } from "../../model/errors.js";
import { gather, positiveSpan, readText } from "../arguments.js";
import { failure, usageError } from "../exit.js";
import { factLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { duration, timeText } from "../quantities.js";
import { perform, type Session, withJson } from "../session.js";
import { isSignedWith } from "../token-signature.js";

interface SecretOptions {
  readonly secretFile?: string;
}

interface MintOptions extends SecretOptions {
  readonly scope: readonly string[];
  readonly subject: string;
  readonly expires: number;
  readonly issuer?: string;
  readonly audience?: string;
}

const HOUR_MS = 3_600_000;

export function tokenCommand(): Command {
  return newCommand("token", "Tokens for a hub with a JWT secret.", [
    "PROMETHEAN_JWT_SECRET_FILE=jwt-secret promethean token mint --subject shop --scope 'publish:orders.*'",
  ])
    .addCommand(mintCommand())
    .addCommand(inspectCommand());
}

function mintCommand(): Command {
  const command = newCommand("mint", "Signs a token (HS256) with the hub's secret.", [
    "promethean token mint --secret-file jwt-secret --subject shop --scope 'publish:orders.*' --expires 12h",
    "promethean token mint --secret-file jwt-secret --subject ops --scope 'read:**' --scope 'ops:*' --json",
  ])
    .requiredOption(
      "--scope <scope>",
      '"verb:pattern" with publish, subscribe, read, group, ops or *; several times',
      gather,
    )
    .requiredOption("--subject <name>", "who it is for; the audit log names it")
    .addOption(
      new Option("--expires <span>", "how long it is valid").argParser(positiveSpan).default(HOUR_MS, "1h"),
    )
    .option("--issuer <issuer>", "what the hub expects as issuer")
    .option("--audience <audience>", "what the hub expects as audience")
    .option(
      "--secret-file <file>",
      "file of the secret (else PROMETHEAN_JWT_SECRET or PROMETHEAN_JWT_SECRET_FILE)",
    );
  return withJson(command).action(perform<MintOptions, []>(mint));
}

async function mint(session: Session<MintOptions>): Promise<void> {
  const { scope: scopes, subject, expires, issuer, audience } = session.options;
  // Throws if one of them is none.
  new Acl({ scopes });
  const secret = await secretOf(session.options);
  if (secret === undefined)
    throw usageError("the secret is missing", "give --secret-file or PROMETHEAN_JWT_SECRET");
  if (secret.length < 32)
    throw usageError("the secret has at least 32 bytes", "make one: openssl rand -base64 48 > jwt-secret");
  const { SignJWT } = await import("jose");
  const expiresMs = Date.now() + expires;
  const jwt = new SignJWT({ scopes })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(subject)
    .setIssuedAt()
    .setExpirationTime(Math.floor(expiresMs / 1_000));
  if (issuer !== undefined) jwt.setIssuer(issuer);
  if (audience !== undefined) jwt.setAudience(audience);
  const token = await jwt.sign(secret);
  session.out.value({ token, subject, scopes, expires: timeText(expiresMs) }, token);
  session.out.note(`good for ${duration(expires)}, until ${timeText(expiresMs)}`);
}

function inspectCommand(): Command {
  const command = newCommand(
    "inspect",
    "Shows what a token says; with the secret, whether it is genuine. Exit code 4 if it would be refused.",
    ["promethean token inspect <token>", "promethean token inspect - --secret-file jwt-secret < token"],
  )
    .argument("<token>", 'the token; "-" is stdin')
    .option(
      "--secret-file <file>",
      "file of the secret (else PROMETHEAN_JWT_SECRET or PROMETHEAN_JWT_SECRET_FILE)",
    );
  return withJson(command).action(perform<SecretOptions, [string]>(inspect));
}

async function inspect(session: Session<SecretOptions>, given: string): Promise<void> {
  const token = given === "-" ? (await readText("-")).trim() : given;
  const { decodeJwt, decodeProtectedHeader } = await import("jose");
  let claims: ReturnType<typeof decodeJwt>;
  let algorithm: string | undefined;
  try {
    claims = decodeJwt(token);
    algorithm = decodeProtectedHeader(token).alg;
  } catch (error) {
    throw failure("INVALID_PAYLOAD", "this is no JWT", { cause: error });
  }
  const secret = await secretOf(session.options);
  const genuine = secret === undefined ? undefined : await isSignedWith(secret, token);
  const expired = claims.exp === undefined || claims.exp * 1_000 <= Date.now();
  const { scopes, rules, fault } = rightsIn(claims);
  const facts = {
    subject: claims.sub,
    scopes: scopes.join(" ") || undefined,
    policy: rules.map(ruleText).join("; ") || undefined,
    rights: fault === undefined ? undefined : `none: a hub refuses it, ${fault.message}`,
    issuer: claims.iss,
    audience: claims.aud === undefined ? undefined : String(claims.aud),
    algorithm,
    expires: claims.exp === undefined ? "never: a hub refuses it" : timeText(claims.exp * 1_000),
    expired: expired ? "yes" : "no",
    signature: genuine === undefined ? "not checked: no secret was given" : genuine ? "good" : "wrong",
  };
  session.out.value(
    { claims, algorithm, expired, ...(genuine !== undefined && { genuine }) },
    factLines(facts),
  );
  if (genuine === false) throw failure("UNAUTHENTICATED", "the token was signed with another secret");
  if (expired) throw failure("UNAUTHENTICATED", "the token has run out");
  if (fault !== undefined) throw failure("UNAUTHENTICATED", fault.message, { cause: fault });
}

/** As a hub reads them. */
function rightsIn(claims: Readonly<Record<string, unknown>>): Required<Grants> & { readonly fault?: Error } {
  try {
    const grants = grantsOf(claims);
    // Throws if one of them is none.
    new Acl(grants);
    return grants;
  } catch (error) {
    return { scopes: [], rules: [], fault: BusError.from(error) };
  }
}

function ruleText({ effect, verbs, resources }: Rule): string {
  return `${effect} ${verbs.join(",")}:${resources.join(",")}`;
}

async function secretOf({ secretFile }: SecretOptions): Promise<Uint8Array | undefined> {
  const { PROMETHEAN_JWT_SECRET, PROMETHEAN_JWT_SECRET_FILE } = process.env;
  const file = secretFile ?? (PROMETHEAN_JWT_SECRET ? undefined : PROMETHEAN_JWT_SECRET_FILE);
  const text = file ? (await readText(file)).trim() : PROMETHEAN_JWT_SECRET;
  return text ? new TextEncoder().encode(text) : undefined;
}
