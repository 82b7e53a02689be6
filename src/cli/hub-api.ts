/** A hub over HTTP. Its problems come out as failures with the same code. */
import type { IncomingMessage } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { describeThrown } from "../model/errors.js";
import type { Backend, Download, Query } from "./backend.js";
import { CliError, failure, usageError } from "./exit.js";
import { AnswerLost, type HttpCall, httpCall } from "./http-call.js";
import { counted } from "./quantities.js";

export interface HubApiOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly name?: string;
  readonly bus?: Backend["bus"];
  readonly signal?: AbortSignal;
  readonly close?: () => Promise<void>;
}

interface Problem {
  readonly code?: string;
  readonly detail?: string;
  readonly line?: number;
  /** Of a stream of lines: how many events of it are in. */
  readonly published?: number;
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
}

export class HubApi implements Backend {
  readonly name: string;
  readonly url: string;
  readonly token: string | undefined;
  readonly bus: Backend["bus"];
  readonly #options: HubApiOptions;
  #hasAnswered = false;

  constructor(options: HubApiOptions) {
    this.#options = options;
    this.url = options.url.replace(/\/+$/, "");
    this.name = options.name ?? this.url;
    this.token = options.token;
    this.bus = options.bus;
  }

  async get<T>(path: string, query: Query = {}): Promise<T> {
    return this.#document(await this.#call(path + queryText(query)));
  }

  async post<T>(path: string, body: object): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    return this.#document(await this.#call(path, { method: "POST", headers, body: JSON.stringify(body) }));
  }

  async stream(
    path: string,
    query: Query = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    return pieces(await this.#call(path + queryText(query), { headers }), this.url);
  }

  async send<T>(path: string, query: Query, lines: AsyncIterable<string | Uint8Array>): Promise<T> {
    const headers = { "Content-Type": "application/x-ndjson" };
    return this.#document(
      await this.#call(path + queryText(query), { method: "POST", headers, body: lines }),
    );
  }

  async download(path: string): Promise<Download> {
    const headers = { "Content-Type": "application/json" };
    const response = await this.#call(path, { method: "POST", headers, body: "{}" });
    return { bytes: Number(response.headers["content-length"]), body: pieces(response, this.url) };
  }

  async close(): Promise<void> {
    await this.#options.close?.();
  }

  #authorization(): Record<string, string> {
    return this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` };
  }

  async #call(path: string, call: HttpCall = {}): Promise<IncomingMessage> {
    checkNames(path);
    const { signal } = this.#options;
    const headers = { ...this.#authorization(), ...call.headers };
    const response = await httpCall(this.url + path, {
      ...call,
      headers,
      signal,
    }).catch((error: unknown) => {
      throw this.#without(call.method, error);
    });
    this.#hasAnswered = true;
    const { statusCode: status = 0 } = response;
    if (status < 200 || status > 299) throw failureOf(response, await textOf(pieces(response, this.url)));
    return response;
  }

  /** Why there is no answer: nobody was there, or somebody was and is gone, with or without the request. */
  #without(method: HttpCall["method"], error: unknown): CliError {
    const cause = causeOf(error);
    // What was to be sent could not be had: that is no fault of the hub.
    const own = [error, cause].find((each) => each instanceof CliError);
    if (own !== undefined) return own as CliError;
    const why = `(${reasonOf(error)})`;
    if (error instanceof AnswerLost) {
      const code = method === "POST" ? "OUTCOME_UNKNOWN" : "STORE_UNAVAILABLE";
      return failure(code, `the hub at ${this.url} was lost before it answered ${why}`, { cause: error });
    }
    if (this.#hasAnswered)
      return failure("STORE_UNAVAILABLE", `the hub at ${this.url} is gone: it answered before ${why}`, {
        cause: error,
      });
    return failure("STORE_UNAVAILABLE", `no hub answers at ${this.url} ${why}`, {
      cause: error,
      hint: "is it running? `promethean up` starts one here; --url names another",
    });
  }

  async #document<T>(response: IncomingMessage): Promise<T> {
    const text = await textOf(pieces(response, this.url));
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw failure("STORE_UNAVAILABLE", `what answers at ${this.url} is no hub: it did not send JSON`, {
        cause: error,
      });
    }
  }
}

async function* pieces(body: AsyncIterable<Uint8Array>, url: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw failure(
      "STORE_UNAVAILABLE",
      `the answer from ${url} broke off (${reasonOf(error)}); it is not whole`,
      {
        cause: error,
      },
    );
  }
}

/** Addresses cannot hold these, written in whatever way: another route would be asked than was meant. */
function checkNames(path: string): void {
  const [route = ""] = path.split("?");
  const name = route
    .slice(1)
    .split("/")
    .find((each) => ["", ".", ".."].includes(each));
  if (name !== undefined) throw usageError(`a hub cannot be asked for "${name}"`);
}

function queryText(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const each of value) search.append(name, each);
    else if (value !== undefined) search.append(name, String(value));
  }
  return search.size === 0 ? "" : `?${search}`;
}

function failureOf({ statusCode: status, headers }: IncomingMessage, text: string): CliError {
  let problem: Problem = {};
  try {
    problem = JSON.parse(text) as Problem;
  } catch {
    // Not a hub, or something between here and it.
  }
  const code = problem.code ?? (status === 404 ? "NOT_FOUND" : "STORE_UNAVAILABLE");
  const where = problem.line === undefined ? "" : `line ${problem.line}: `;
  const { location } = headers;
  const bare =
    location === undefined ? `the hub answered ${status}` : `the hub is at ${location} (${status})`;
  const said = problem.detail ?? bare;
  const { published } = problem;
  const before = published === undefined ? "" : `; ${counted(published, "event")} went in before that`;
  const message = `${said.startsWith(where) ? said : `${where}${said}`}${before}`;
  return failure(code, message, hintFor(code));
}

function hintFor(code: string): { hint?: string } {
  if (code === "UNAUTHENTICATED")
    return { hint: "give a token: --token, --token-file, PROMETHEAN_TOKEN, or a context that has one" };
  return {};
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

function reasonOf(error: unknown): string {
  const cause = causeOf(error);
  return (cause as { code?: string }).code ?? describeThrown(cause);
}
