/** Reading a view: documents as people see them, with `_key`, `_v` and `_ts` beside their own fields. */
import { BusError } from "../../model/errors.js";
import type { JsonObject } from "../../model/json.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { DocumentQuery, Documents, ViewDocument } from "../../ports/documents.js";
import type { ViewConditions, ViewField } from "./view-fields.js";
import { isBuildName, type ViewPointers } from "./view-pointer.js";
import { checkKey, checkQuery } from "./view-query.js";

const NAME = /^[a-z0-9][a-z0-9_.-]{0,119}$/;

/** A document of a view. */
export type ViewRecord<T = JsonObject> = T & {
  readonly _key: string;
  readonly _v: number;
  readonly _ts: number;
};

/** Which documents of a view, in which order, and how many. */
export interface FindOptions<T = JsonObject> extends Omit<DocumentQuery, "where" | "order" | "limit"> {
  /** What the fields must be, by name, or by path (`"address.city"`); a bare value means `eq`. */
  readonly where?: ViewConditions<T>;
  /** Default: by key, ascending. */
  readonly order?: { readonly field: ViewField<T>; readonly descending?: boolean };
  /** Default 50, at most 1,000. */
  readonly limit?: number;
}

const FIND_OPTIONS = namesOf<FindOptions>({ where: true, order: true, limit: true, after: true });

/** A page of documents. */
export interface ViewPage<T = JsonObject> {
  readonly items: readonly ViewRecord<T>[];
  /** Hand it in as `after` for the next page; null at the end. */
  readonly next: string | null;
}

/**
 * A read model: documents by key, fed by a projector. Made by `bus.view(name)`; after a rebuild it reads the new build.
 *
 * @example
 * const processes = bus.view("processes");
 * await processes.get("host-a:stt:42");
 * await processes.find({ where: { status: "stale" }, limit: 50 });
 */
export class View<T = JsonObject> {
  readonly name: string;
  readonly #documents: Documents;
  readonly #pointers: ViewPointers;

  constructor(name: string, documents: Documents, pointers: ViewPointers) {
    checkViewName(name);
    this.name = name;
    this.#documents = documents;
    this.#pointers = pointers;
  }

  async get(key: string): Promise<ViewRecord<T> | null> {
    checkKey(key);
    const table = await this.#pointers.current(this.name);
    const document = (await this.#documents.get(table, [key])).get(key);
    return document === undefined ? null : toRecord<T>(document);
  }

  async find(options: FindOptions<T> = {}): Promise<ViewPage<T>> {
    checkOptionNames("find", options, FIND_OPTIONS);
    const limit = options.limit ?? 50;
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1_000) {
      throw new BusError("INVALID_OPTION", "limit must be a whole number from 1 to 1,000");
    }
    checkQuery(options);
    const table = await this.#pointers.current(this.name);
    const { documents, next } = await this.#documents.find(table, {
      ...(options as Omit<DocumentQuery, "limit">),
      limit,
    });
    return { items: documents.map((document) => toRecord<T>(document)), next };
  }
}

export function checkViewName(name: unknown): asserts name is string {
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new BusError("INVALID_OPTION", 'a view name has 1 to 120 lower-case letters, digits or "_ . -"');
  }
}

/** Of a view that somebody keeps: `orders__2` is where a rebuild puts the view `orders`. */
export function checkKeptName(name: unknown): asserts name is string {
  checkViewName(name);
  if (isBuildName(name))
    throw new BusError(
      "INVALID_OPTION",
      `a view cannot be called ${name}: "__" and a number name the builds of a view that is rebuilt`,
    );
}

export function toRecord<T>(document: ViewDocument): ViewRecord<T> {
  return {
    ...document.fields,
    _key: document.key,
    _v: document.version,
    _ts: document.ts,
  } as unknown as ViewRecord<T>;
}
