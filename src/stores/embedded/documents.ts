/** Views: reads here, writes in the writing thread. */
import { BusError } from "../../model/errors.js";
import type {
  DocumentPage,
  DocumentQuery,
  Documents,
  DocumentWrite,
  Unit,
  ViewDocument,
  ViewIndex,
  ViewInfo,
  WriteResult,
} from "../../ports/documents.js";
import type { Access } from "./access.js";
import { packWrites } from "./documents/document-message.js";
import { documentOf, getDocuments, pageOf } from "./documents/document-reader.js";
import { cursorText } from "./groups.js";
import { jsonCopy, parseFrozen } from "./json-copy.js";

export class EmbeddedDocuments implements Documents {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async define(view: string, indexes: readonly ViewIndex[]): Promise<void> {
    await this.#access.call("defineView", { view, indexes: jsonCopy(indexes) });
  }

  async write(view: string, writes: readonly DocumentWrite[]): Promise<WriteResult> {
    if (writes.some((write) => write.expected !== undefined)) {
      throw new BusError("INVALID_OPTION", "`expected` is for transact; write does not compare");
    }
    return this.#access.call("writeDocuments", { parts: [packWrites(view, writes)], cursor: undefined });
  }

  async transact(unit: Unit): Promise<WriteResult> {
    if (unit.within !== undefined)
      throw new BusError("UNSUPPORTED", "this store has no transactions that can be entered from outside");
    const { writes, cursor } = unit;
    return this.#access.call("writeDocuments", {
      parts: writes.map((part) => packWrites(part.view, part.writes)),
      cursor: cursor && cursorText(cursor.ref, cursor.epoch, cursor.cursor, cursor.expectedFloor),
    });
  }

  async get(view: string, keys: readonly string[]): Promise<ReadonlyMap<string, ViewDocument>> {
    const rows = await this.#access.read((connection) => getDocuments(connection, view, keys));
    return new Map(rows.map(documentOf).map((document) => [document.key, document]));
  }

  /** In the reading thread: a filter without an index walks through the whole view. */
  async find(view: string, query: DocumentQuery): Promise<DocumentPage> {
    const rows = await this.#access.readLong("find", { view, query: jsonCopy(query) });
    return pageOf(rows, query);
  }

  views(): Promise<readonly ViewInfo[]> {
    return this.#access.read((connection) =>
      connection
        .sql("SELECT name, documents, indexes FROM view ORDER BY name")
        .all<[string, number, string]>()
        .map(([view, documents, indexes]) => ({ view, documents, indexes: parseFrozen(indexes) })),
    );
  }

  async drop(view: string): Promise<void> {
    await this.#access.call("dropView", { view });
  }

  purge(view: string, beforeTs: number): Promise<number> {
    return this.#access.call("purgeView", { view, beforeTs });
  }
}
