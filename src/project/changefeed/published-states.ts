/**
 * What a feed has published last of each document, as digests in a view of the bus's store: what a scan is compared
 * with when the server's log no longer tells what happened (P12). What is written carries the stamp of whoever runs the
 * feed: what comes late from a process that ran it before changes nothing (P7).
 */
import type { Documents, DocumentWrite } from "../../ports/documents.js";
import type { FeedEntry } from "./collection-change.js";

const PAGE = 500;

export class PublishedStates {
  readonly #documents: Documents;
  readonly #view: string;

  constructor(documents: Documents, view: string) {
    this.#documents = documents;
    this.#view = view;
  }

  /** Keeps the last state of each document. */
  async remember(entries: readonly FeedEntry[], version: number): Promise<void> {
    const writes = new Map<string, DocumentWrite>();
    for (const { exactId, digest, ts } of entries) {
      const base = { key: exactId, ts, version };
      writes.set(
        exactId,
        digest === null ? { op: "delete", ...base } : { op: "upsert", ...base, fields: { digest } },
      );
    }
    if (writes.size > 0) await this.#documents.write(this.#view, [...writes.values()]);
  }

  /** These may have been published, in whatever state. */
  async suspect(exactIds: readonly string[], ts: number, version: number): Promise<void> {
    const known = await this.digests(exactIds);
    const unknown = exactIds.filter((id) => !known.has(id));
    const base = { op: "upsert", ts, version, fields: { digest: "" } } as const;
    const writes = unknown.map((key) => ({ ...base, key }));
    if (writes.length > 0) await this.#documents.write(this.#view, writes);
  }

  /** By exact id; absent if nothing was published of it, or if it was published as gone. */
  async digests(exactIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = await this.#documents.get(this.#view, exactIds);
    return new Map([...found].map(([id, { fields }]) => [id, String(fields["digest"])]));
  }

  /** Exact ids of all documents that were published and are not gone, page by page. */
  async *all(): AsyncGenerator<readonly string[]> {
    for (let after: string | undefined; ; ) {
      const page = await this.#documents.find(this.#view, {
        limit: PAGE,
        ...(after !== undefined && { after }),
      });
      if (page.documents.length > 0) yield page.documents.map(({ key }) => key);
      if (page.next === null) return;
      after = page.next;
    }
  }

  /** Nothing is ever compared with what is gone. */
  async purge(beforeTs: number): Promise<void> {
    await this.#documents.purge(this.#view, beforeTs);
  }
}
