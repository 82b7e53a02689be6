/** What commands talk to: the interface of a hub, whether it runs elsewhere or in this process over a store. */
import type { Bus } from "../bus/bus.js";

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface Backend {
  /** For people: an address, or the name of a store. */
  readonly name: string;
  readonly url: string;
  readonly token: string | undefined;
  /** The bus itself, where it runs in this process. */
  readonly bus: Bus | undefined;
  get<T>(path: string, query?: Query): Promise<T>;
  post<T>(path: string, body: object): Promise<T>;
  /** A body that is read as it comes. */
  stream(
    path: string,
    query?: Query,
    headers?: Readonly<Record<string, string>>,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Lines of JSON, sent as they come. */
  send<T>(path: string, query: Query, lines: AsyncIterable<string | Uint8Array>): Promise<T>;
  /** A body that the other end makes first, however long that takes. */
  download(path: string): Promise<Download>;
  close(): Promise<void>;
}

export interface Download {
  readonly bytes: number;
  readonly body: AsyncIterable<Uint8Array>;
}
