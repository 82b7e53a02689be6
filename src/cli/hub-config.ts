/**
 * The settings of `promethean serve`: flags over the environment over the file over defaults. Secrets may stand in files
 * of their own. What is wrong is named by its key.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { Acl } from "../hub/auth/acl.js";
import { isLoopback } from "../hub/auth/auth.js";
import { faultOf } from "../hub/auth/public-keys.js";
import { DEFAULT_HUB_LIMITS } from "../hub/limits.js";
import { originOf } from "../hub/visitors.js";
import { describeThrown } from "../model/errors.js";
import { checkTopicName } from "../model/topic.js";
import { failure } from "./exit.js";
import { isMongoAddress, redacted } from "./store-choice.js";

/** A text that `check` takes, with its own words if it does not. */
function checkedText(check: (text: string) => void): z.ZodString {
  return z.string().superRefine((text, { addIssue }) => {
    try {
      check(text);
    } catch (error) {
      addIssue(describeThrown(error));
    }
  });
}

// What stands in files is filled in before.
const Token = z.strictObject({
  token: z.string({ error: "is needed, or tokenFile" }).min(16, "has at least 16 characters"),
  scopes: z.array(checkedText((scope) => new Acl({ scopes: [scope] }))).min(1),
  subject: z.string().min(1).optional(),
});

/** Of two entries with one token only the last would count. */
const Tokens = z
  .array(Token)
  .min(1)
  .superRefine((tokens, { addIssue }) => {
    for (const [i, { token }] of tokens.entries())
      if (tokens.findIndex((other) => other.token === token) < i)
        addIssue({ code: "custom", path: [i, "token"], message: "is that of an entry before it" });
  });

const Secrets = z
  .union([z.string(), z.array(z.string()).min(1)], "is a secret, or a list of them")
  .refine((given) => [given].flat().every(({ length }) => length >= 32), "has at least 32 characters");
const PublicKey = z.looseObject({ kty: z.string() }).superRefine((key, { addIssue }) => {
  const fault = faultOf(key);
  if (fault !== undefined) addIssue(fault);
});

const Jwt = z
  .strictObject({
    secret: Secrets.optional(),
    keys: z.array(PublicKey).min(1).optional(),
    jwksUrl: z.url().optional(),
    // No token has an empty one.
    issuer: z.string().min(1).optional(),
    audience: z.string().min(1).optional(),
  })
  .refine(({ secret, keys, jwksUrl }) => countGiven(secret, keys, jwksUrl) === 1, {
    message: "takes exactly one of secret (or secretFile), keys, jwksUrl",
  });

function countGiven(...values: readonly unknown[]): number {
  return values.filter((value) => value !== undefined).length;
}

const Auth = z
  .strictObject(
    {
      none: z.literal(true).optional(),
      tokens: Tokens.optional(),
      jwt: Jwt.optional(),
      requireGroups: z.boolean().optional(),
    },
    { error: ({ code }) => (code === "invalid_type" ? "is needed: jwt, tokens or none" : undefined) },
  )
  .refine(({ jwt, tokens, none }) => countGiven(jwt, tokens, none) === 1, {
    message: "takes exactly one of jwt, tokens, none",
  })
  .refine(({ none, requireGroups }) => !(none && requireGroups), {
    path: ["requireGroups"],
    message: "is said of tokens, and this hub takes none",
  });

const Topic = z.strictObject({
  name: checkedText(checkTopicName),
  partitions: z.int().min(1).max(1_024).optional(),
  retentionMs: z.number().positive().optional(),
  retentionDays: z.number().positive().optional(),
  retentionBytes: z.number().positive().optional(),
  compaction: z.boolean().optional(),
  tombstoneRetentionMs: z.number().positive().optional(),
  keyed: z.boolean().optional(),
  layout: z.enum(["documents", "batches"]).optional(),
});

const positive = z.number().positive().optional();
const LIMITS = Object.keys(DEFAULT_HUB_LIMITS);
const PORT = "is a number from 0 to 65535";

export const HubConfigSchema = z.strictObject({
  store: z.string({ error: "is needed: a file, or mongodb://…" }).min(1),
  /** A file that no other process opens meanwhile. */
  exclusive: z.boolean().default(false),
  host: z.string().min(1).default("127.0.0.1"),
  port: z.coerce.number<number | string>(PORT).int(PORT).min(0, PORT).max(65_535, PORT).default(8_420),
  name: z.string().min(1).default("promethean"),
  auth: Auth,
  origins: z
    .array(
      z
        .string()
        .refine((text) => originOf(text) !== undefined, "is no site: write it as https://shop.example"),
    )
    .default([]),
  topics: z.array(Topic).default([]),
  /** Run by this process as well; any number of hubs on a store may. */
  upkeep: z
    .strictObject({ retention: z.boolean().default(true), compaction: z.boolean().default(true) })
    .prefault({}),
  bus: z.strictObject({ leaseMs: positive, drainMs: positive, publishTimeoutMs: positive }).default({}),
  limits: z.strictObject(Object.fromEntries(LIMITS.map((name) => [name, positive]))).default({}),
  /** By OpenTelemetry, with the SDK that this process was started with. */
  tracing: z.boolean().default(false),
  log: z
    .strictObject({ level: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info") })
    .prefault({}),
});

export type HubConfig = z.output<typeof HubConfigSchema>;

export interface ConfigFlags {
  readonly config?: string;
  readonly store?: string;
  readonly exclusive?: boolean;
  readonly host?: string;
  readonly port?: string;
  readonly requireGroups?: boolean;
}

type Draft = Record<string, unknown>;

/** Reads, merges, fills in secrets, checks. */
export async function loadConfig(flags: ConfigFlags): Promise<HubConfig> {
  const { env } = process;
  const file = flags.config ?? (env.PROMETHEAN_CONFIG || undefined);
  const draft: Draft = { ...(file === undefined ? {} : await readConfig(file)) };
  const said = {
    store: flags.store ?? env.PROMETHEAN_STORE,
    host: flags.host ?? env.PROMETHEAN_HOST,
    port: flags.port ?? env.PROMETHEAN_PORT,
    name: env.PROMETHEAN_NAME,
  };
  for (const [name, value] of Object.entries(said)) if (value) draft[name] = value;
  if (flags.exclusive) draft.exclusive = true;
  if (env.PROMETHEAN_LOG_LEVEL)
    draft.log = { ...(draft.log as object | undefined), level: env.PROMETHEAN_LOG_LEVEL };
  draft.auth = await authOf(draft.auth);
  if (flags.requireGroups) draft.auth = { ...(draft.auth as object | undefined), requireGroups: true };
  return checkConfig(draft, file ?? "the configuration");
}

export function checkConfig(draft: unknown, where: string): HubConfig {
  const result = HubConfigSchema.refine(({ store, exclusive }) => !exclusive || isFile(store), {
    path: ["exclusive"],
    message: "only a store in a file can be opened so",
  })
    .refine(({ auth, host }) => !auth.none || isLoopback(host), {
      path: ["auth", "none"],
      message: "is for loopback only; a hub that others reach needs tokens",
    })
    .safeParse(draft);
  if (result.success) return result.data;
  const lines = result.error.issues.slice(0, 10).map(({ path, message }) => {
    const key = path.map(String).join(".");
    return key === "" ? message : `${key}: ${message}`;
  });
  const hint = lines.some((line) => line.startsWith("auth"))
    ? "set PROMETHEAN_JWT_SECRET or PROMETHEAN_ADMIN_TOKEN (or …_FILE), or auth in the file"
    : "`promethean config print` shows every key";
  throw failure("INVALID_PAYLOAD", `${where} is not valid. ${lines.join("; ")}`, { hint });
}

function isFile(store: string): boolean {
  return store !== "memory" && !isMongoAddress(store);
}

async function readConfig(file: string): Promise<Draft> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw failure("NOT_FOUND", `the settings in ${file} cannot be read (${code})`, { cause: error });
  }
  const { parse } = await import("yaml");
  let read: unknown;
  try {
    read = parse(text) as unknown;
  } catch (error) {
    const [line] = String((error as Error).message).split("\n");
    throw failure("INVALID_PAYLOAD", `${file} is neither YAML nor JSON: ${line}`, { cause: error });
  }
  if (typeof read !== "object" || read === null || Array.isArray(read))
    throw failure("INVALID_PAYLOAD", `${file} holds no settings: write "store: …" and so on`);
  return read as Draft;
}

/** The file's, unless the environment names a secret; what stands in files of its own is read. */
async function authOf(given: unknown): Promise<unknown> {
  const jwtSecret = await secretOf("PROMETHEAN_JWT_SECRET");
  const adminToken = await secretOf("PROMETHEAN_ADMIN_TOKEN");
  const auth = given as { jwt?: Draft; tokens?: Draft[]; requireGroups?: unknown } | undefined;
  if (jwtSecret !== undefined && adminToken !== undefined)
    throw failure("INVALID_PAYLOAD", "PROMETHEAN_JWT_SECRET and PROMETHEAN_ADMIN_TOKEN are both set", {
      hint: "a hub takes tokens of one kind: set one of them (or …_FILE)",
    });
  const { requireGroups } = auth ?? {};
  const demands = requireGroups === undefined ? {} : { requireGroups };
  if (jwtSecret !== undefined) return { ...demands, jwt: { ...withoutSecret(auth?.jwt), secret: jwtSecret } };
  if (adminToken !== undefined)
    return { ...demands, tokens: [{ token: adminToken, scopes: ["*:*", "group:*"], subject: "admin" }] };
  if (given === "none") return { none: true };
  if (typeof auth !== "object" || auth === null) return auth;
  if (auth.jwt !== undefined) return { ...auth, jwt: await filled(auth.jwt, "secret") };
  if (Array.isArray(auth.tokens))
    return { ...auth, tokens: await Promise.all(auth.tokens.map((token) => filled(token, "token"))) };
  return auth;
}

function withoutSecret(jwt: Draft | undefined): Draft {
  const { secret: _, secretFile: __, ...rest } = jwt ?? {};
  return rest;
}

async function filled(part: Draft, name: string): Promise<Draft> {
  const file = part?.[`${name}File`];
  if (typeof file !== "string" && !isListOfTexts(file)) return part;
  const { [`${name}File`]: _, ...rest } = part;
  return { ...rest, [name]: await (isListOfTexts(file) ? Promise.all(file.map(secretIn)) : secretIn(file)) };
}

function isListOfTexts(given: unknown): given is string[] {
  return Array.isArray(given) && given.every((each) => typeof each === "string");
}

async function secretOf(name: string): Promise<string | undefined> {
  const { [name]: value, [`${name}_FILE`]: file } = process.env;
  if (value) return value;
  return file ? secretIn(file) : undefined;
}

async function secretIn(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw failure("NOT_FOUND", `the secret in ${file} cannot be read (${code})`, { cause: error });
  }
}

/** As it may be shown: without secrets. */
export function redactedConfig(config: HubConfig): object {
  const { jwt, tokens, ...rest } = config.auth;
  return {
    ...config,
    store: redacted(config.store),
    auth: {
      ...rest,
      ...(jwt && { jwt: { ...jwt, ...(jwt.secret !== undefined && { secret: "***" }) } }),
      ...(tokens && { tokens: tokens.map((token) => ({ ...token, token: "***" })) }),
    },
  };
}
