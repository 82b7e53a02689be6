/** What keeps a client from connecting at all: mostly what its address says, and it is to be told which part of it. */
import { isMongo } from "./driver-kinds.js";
import type { Verdict } from "./errors.js";

/** Ways to sign in that ask somebody else than the server. They are told apart by name only. */
const ASKS_OTHERS = /^Mongo(AWS|OIDC|Azure|GCP|GCPMetadata)Error$/;

/** Undefined if it is about something else. */
export function verdictOnConnecting(error: Error): Verdict | undefined {
  const { code, syscall = "" } = error as NodeJS.ErrnoException;
  // A socket's calls are others: connect, read, write.
  if (syscall === "open" || code === "EISDIR")
    return { code: "INVALID_OPTION", advice: "a file that the MongoDB address names cannot be read" };
  if (/^query[A-Z]/.test(syscall))
    return {
      code: "STORE_UNAVAILABLE",
      advice:
        "the name in the address mongodb+srv://… leads to no server: check it, and that DNS can be asked",
    };
  if (isMongo(error, "MongoCompatibilityError"))
    return {
      code: "STORE_INCOMPATIBLE",
      advice: "the MongoDB server is too old, or is not what the address says (loadBalanced)",
    };
  if (isMongo(error, "MongoServerSelectionError"))
    return { code: "STORE_UNAVAILABLE", advice: adviceOn(error.reason) };
  if (isMongo(error, "MongoError") && ASKS_OTHERS.test(error.name))
    return isMongo(error.cause, "MongoMissingDependencyError")
      ? NOT_ACCEPTED
      : {
          code: "STORE_UNAVAILABLE",
          advice:
            "signing in to MongoDB failed on this side: check authMechanism in the address, and what it needs",
        };
  return NOT_ACCEPTED_KINDS.some((kind) => isMongo(error, kind)) ? NOT_ACCEPTED : undefined;
}

const NOT_ACCEPTED: Verdict = { code: "INVALID_OPTION", advice: "MongoDB's driver does not accept this" };
const NOT_ACCEPTED_KINDS = [
  "MongoParseError",
  "MongoInvalidArgumentError",
  "MongoMissingCredentialsError",
  "MongoMissingDependencyError",
] as const;

/** `found`: the servers at the address that are what it says. */
function adviceOn(found: Found | undefined): string {
  if (found?.servers.size === 0 && found.setName !== null)
    return `no MongoDB server at the address belongs to the replica set "${found.setName}": check replicaSet in it (a standalone server belongs to none)`;
  if ([...(found?.servers.values() ?? [])].some(({ type }) => type === "RSGhost"))
    return "the MongoDB server was started as one of a replica set that does not exist yet: run rs.initiate() on it";
  return "no MongoDB server that takes writes was found: check that it runs, its address, and the name of its replica set";
}

interface Found {
  readonly servers: ReadonlyMap<string, { readonly type: string }>;
  readonly setName: string | null;
}
