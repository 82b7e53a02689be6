/** A hub over HTTP. Its problems come out as failures with the same code. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { describeThrown } from "../model/errors.js";
import type { Backend, Download, Query } from "./backend.js";
import { CliError, failure } from "./exit.js";

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
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
}

export class HubApi implements Backend {
  readonly name: string;
  readonly url: string;
  readonly token: string | undefined;
  readonly bus: Backend["bus"];
  readonly #options: HubApiOptions;

  constructor(options: HubApiOptions) {
    this.#options = options;
    this.url = options.url.replace(/\/+$/, "");
    this.name = options.name ?? this.url;
    this.token = options.token;
    this.bus = options.bus;
  }

  async get<T>(path: string, query: Query = {}): Promise<T> {
    return (await this.#fetch("GET", path, query)).json() as Promise<T>;
  }

  async post<T>(path: string, body: object): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    const response = await this.#fetch("POST", path, {}, { headers, body: JSON.stringify(body) });
    return response.json() as Promise<T>;
  }

  async stream(
    path: string,
    query: Query = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    const { body } = await this.#fetch("GET", path, query, { headers });
    return pieces(body as AsyncIterable<Uint8Array> | null, this.url);
  }

  async send<T>(path: string, query: Query, lines: AsyncIterable<string | Uint8Array>): Promise<T> {
    const body = Readable.toWeb(Readable.from(lines, { objectMode: false })) as ReadableStream;
    const headers = { "Content-Type": "application/x-ndjson" };
    const response = await this.#fetch("POST", path, query, { headers, body, duplex: "half" } as RequestInit);
    return response.json() as Promise<T>;
  }

  /** Not by `fetch`, which gives up after five minutes without a word. */
  async download(path: string): Promise<Download> {
    const url = new URL(this.url + path);
    const { request } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
    const { signal } = this.#options;
    const headers = { ...this.#authorization(), "Content-Type": "application/json" };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request(url, { method: "POST", headers, ...(signal && { signal }) }, resolve);
      asked.on("error", reject);
      asked.end("{}");
    }).catch((error: unknown) => {
      throw unreachable(this.url, error);
    });
    if (response.statusCode !== 200) throw failureOf(response.statusCode ?? 0, await textOf(response));
    return { bytes: Number(response.headers["content-length"]), body: pieces(response, this.url) };
  }

  async close(): Promise<void> {
    await this.#options.close?.();
  }

  #authorization(): Record<string, string> {
    return this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` };
  }

  async #fetch(method: string, path: string, query: Query, init: RequestInit = {}): Promise<Response> {
    const { signal } = this.#options;
    const headers = { ...this.#authorization(), ...(init.headers as Record<string, string> | undefined) };
    let response: Response;
    try {
      response = await fetch(this.url + path + queryText(query), {
        ...init,
        method,
        headers,
        ...(signal && { signal }),
      });
    } catch (error) {
      throw unreachable(this.url, error);
    }
    if (!response.ok) throw failureOf(response.status, await response.text());
    return response;
  }
}

async function* pieces(body: AsyncIterable<Uint8Array> | null, url: string): AsyncGenerator<Uint8Array> {
  if (body === null) return;
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

function queryText(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const each of value) search.append(name, each);
    else if (value !== undefined) search.append(name, String(value));
  }
  return search.size === 0 ? "" : `?${search}`;
}

function failureOf(status: number, text: string): CliError {
  let problem: Problem = {};
  try {
    problem = JSON.parse(text) as Problem;
  } catch {
    // Not a hub, or something between here and it.
  }
  const code = problem.code ?? (status === 404 ? "NOT_FOUND" : "STORE_UNAVAILABLE");
  const where = problem.line === undefined ? "" : `line ${problem.line}: `;
  const said = problem.detail ?? `the hub answered ${status}`;
  const message = said.startsWith(where) ? said : `${where}${said}`;
  return failure(code, message, hintFor(code));
}

function hintFor(code: string): { hint?: string } {
  if (code === "UNAUTHENTICATED")
    return { hint: "give a token: --token, --token-file, PROMETHEAN_TOKEN, or a context that has one" };
  return {};
}

function unreachable(url: string, error: unknown): CliError {
  const cause = causeOf(error);
  // What was to be sent could not be had: that is no fault of the hub.
  const own = [error, cause].find((each) => each instanceof CliError);
  if (own !== undefined) return own as CliError;
  return failure("STORE_UNAVAILABLE", `no hub answers at ${url} (${reasonOf(error)})`, {
    cause: error,
    hint: "is it running? `promethean up` starts one here; --url names another",
  });
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

function reasonOf(error: unknown): string {
  const cause = causeOf(error);
  return (cause as { code?: string }).code ?? describeThrown(cause);
}
