/** A store from the words that name it: a file, or an address of MongoDB. Drivers are loaded only when they are used. */
import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { describeThrown } from "../model/errors.js";
import type { Store } from "../ports/store.js";
import { type CliError, failure, usageError } from "./exit.js";

export function isMongoAddress(text: string): boolean {
  return /^mongodb(\+srv)?:\/\//i.test(text);
}

export async function chooseStore(
  text: string,
  o: {
    readonly mustExist?: boolean;
    readonly exclusive?: boolean;
    readonly onWarning?: (message: string) => void;
  } = {},
): Promise<Store> {
  const warn = o.onWarning !== undefined && { onWarning: o.onWarning };
  if (text === "memory") {
    const { memoryStore } = await import("../stores/memory/index.js");
    return memoryStore();
  }
  if (isMongoAddress(text)) {
    const { mongoStore } = await import("../stores/mongo/index.js");
    return mongoStore({ url: text, ...warn });
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) {
    throw usageError(`"${redacted(text)}" is no store: give the path of a file, or mongodb://…`);
  }
  const path = resolve(text);
  if (o.mustExist) await demandFile(path);
  await makeFolder(dirname(path));
  const { embeddedStore } = await import("../stores/embedded/index.js");
  return embeddedStore({ path, exclusive: o.exclusive ?? false, ...warn });
}

/** An address without its password, also if that holds an @ that should have been escaped, and without secrets among its options. */
export function redacted(text: string): string {
  return text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^:/@]*):.*@/is, "$1:***@")
    .replace(/(AWS_SESSION_TOKEN:|tlsCertificateKeyFilePassword=|proxyPassword=)[^&,]*/gi, "$1***");
}

/** A file without a byte would become a store when it is opened. */
async function demandFile(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  const isEmpty = there?.isFile() && there.size === 0;
  if (there === undefined || isEmpty) {
    throw failure("NOT_FOUND", `there is no store ${path}${isEmpty ? ": the file is empty" : ""}`, {
      hint: "check the path; `promethean up` makes a new store, as does `promethean serve --store <file>`",
    });
  }
}

const ANOTHER_PLACE = "choose one that you may write to: PROMETHEAN_DATA=<folder>, or --store <file>";

/**
 * Makes a folder with those above it, one at a time: in places such as /proc, where a folder can be neither found nor
 * made, a recursive mkdir goes round in circles.
 */
export async function makeFolder(path: string, hint = ANOTHER_PLACE): Promise<void> {
  const there = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw unusable(path, error, hint);
  });
  if (there?.isDirectory()) return;
  if (there !== undefined) throw unusable(path, "it is a file", hint);
  if (dirname(path) !== path) await makeFolder(dirname(path), hint);
  try {
    await mkdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(path, error, hint);
  }
}

function unusable(path: string, error: unknown, hint: string): CliError {
  const why =
    typeof error === "string" ? error : ((error as { code?: string }).code ?? describeThrown(error));
  return failure("STORE_UNAVAILABLE", `the folder ${path} cannot be made (${why})`, {
    cause: error,
    hint,
  });
}
