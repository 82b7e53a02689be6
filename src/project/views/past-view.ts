/**
 * A whole view as it was at a time: from the newest snapshot that is not later, and the events since; without one, from
 * all the events there are. Documents come by key, in windows of bounded size: a view that does not fit into one window
 * takes one look through the log for each.
 */
import { BusError } from "../../model/errors.js";
import type { EventRecord, Seq, StoredEvent } from "../../model/event.js";
import type { JsonObject } from "../../model/json.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { isForOneGroup } from "../../model/redrive.js";
import { snapshotTopic, type TopicConfig } from "../../model/topic.js";
import type { DocumentWrite } from "../../ports/documents.js";
import type { PartitionHead } from "../../ports/log.js";
import { compactionReached } from "../history/log-compactor.js";
import { readMarks, type SnapshotMark, sourceOf } from "../history/snapshot.js";
import { isRepeat } from "../history/snapshotter.js";
import { knownTopic, newestAt, timeOf } from "../history/time-travel.js";
import { checkHost, type Host } from "../host.js";
import { KeyWindow } from "../key-window.js";
import { scanPages } from "../log-scan.js";
import { checkCount, checkFunctions } from "../option-checks.js";
import { CHANGELOG_OPTIONS, keyIn, lastWrites } from "./changelog.js";
import { checkViewName, toRecord, type ViewRecord } from "./view.js";
import { type ViewSource, viewSource } from "./view-definitions.js";
import { checkKey } from "./view-query.js";

/** Which documents of a view as it was. */
export interface PastFindOptions<D> {
  /** Default 50, at most 1,000. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string;
  readonly filter?: (document: ViewRecord<D>) => boolean;
}

const FIND_OPTIONS = namesOf<PastFindOptions<unknown>>({ limit: true, after: true, filter: true });

/** Some documents of a view as it was, and where to go on. */
export interface PastPage<D> {
  readonly items: readonly ViewRecord<D>[];
  readonly next: string | null;
}

const WINDOW_KEYS = 20_000;
const WINDOW_BYTES = 32 * 1_048_576;

/**
 * A view as it was, by its name, or by what its projector was told.
 *
 * @example
 * const then = await viewAt(bus, "processes", Date.now() - 3_600_000);
 * await then.get("host-a:stt:42");
 * for await (const document of then) console.log(document._key);
 */
export async function viewAt<D = JsonObject, T = unknown>(
  host: Host,
  view: string | ViewSource<T>,
  at: number | Date,
): Promise<PastView<D, T>> {
  checkHost(host);
  const ts = timeOf(at);
  if (typeof view !== "object" || view === null) checkViewName(view);
  else checkOptionNames("the source of a view", view, CHANGELOG_OPTIONS);
  const source = typeof view === "string" ? await viewSource<T>(host, view) : view;
  return new PastView<D, T>(host, await knownTopic(host, source.topic), source, ts);
}

/** A view as it was at a time: made by viewAt. */
export class PastView<D = JsonObject, T = unknown> {
  readonly ts: number;
  readonly #host: Host;
  readonly #topic: TopicConfig;
  readonly #source: ViewSource<T>;

  constructor(host: Host, topic: TopicConfig, source: ViewSource<T>, ts: number) {
    this.#host = host;
    this.#topic = topic;
    this.#source = source;
    this.ts = ts;
  }

  /** By index, unless the view has keys or versions of its own. */
  async get(key: string): Promise<ViewRecord<D> | null> {
    checkKey(key);
    if (followsKeys(this.#source)) {
      const counts = (event: StoredEvent): boolean => this.#writeOf(event) !== undefined;
      const event = await newestAt(this.#host, this.#topic, { key, ts: this.ts, counts });
      return documentOf(event === null ? undefined : this.#writeOf(event));
    }
    const window = new KeyWindow<DocumentWrite>({ only: key, maxKeys: 1, maxBytes: WINDOW_BYTES });
    await this.#fill(window);
    return documentOf(window.close().entries[0]?.value);
  }

  /** A page of documents, by key. */
  async find(options: PastFindOptions<D> = {}): Promise<PastPage<D>> {
    checkOptionNames("find in a view as it was", options, FIND_OPTIONS);
    const { limit = 50, after, filter = () => true } = options;
    checkCount("limit", limit, 1, 1_000);
    checkFunctions({ filter });
    if (after !== undefined && typeof after !== "string") {
      throw new BusError("INVALID_OPTION", "after is the `next` of the page before");
    }
    const items: ViewRecord<D>[] = [];
    for await (const document of this.#documents(after)) {
      if (!filter(document)) continue;
      if (items.length === limit) return { items, next: items.at(-1)?._key ?? null };
      items.push(document);
    }
    return { items, next: null };
  }

  /** Every document, by key. */
  [Symbol.asyncIterator](): AsyncGenerator<ViewRecord<D>> {
    return this.#documents(undefined);
  }

  async *#documents(start: string | undefined): AsyncGenerator<ViewRecord<D>> {
    for (let after = start; ; ) {
      const window = new KeyWindow<DocumentWrite>({ after, maxKeys: WINDOW_KEYS, maxBytes: WINDOW_BYTES });
      await this.#fill(window);
      const { entries, more } = window.close();
      for (const { value } of entries) {
        const document = documentOf<D>(value);
        if (document !== null) yield document;
      }
      if (!more) return;
      after = entries.at(-1)?.key;
    }
  }

  /** Offers the events that are not newer than the time, from the log or the snapshot; the newest of a key stands. */
  async #fill(window: KeyWindow<DocumentWrite>): Promise<void> {
    const { store } = this.#host;
    const snapshot = await store.registry.topic(snapshotTopic(this.#topic.name));
    const heads = await store.log.heads(this.#topic.name);
    const entryHeads = snapshot === null ? [] : await store.log.heads(snapshot.name);
    for (const head of heads) {
      const entries = followsKeys(this.#source) ? (entryHeads[head.partition]?.head ?? 0) : 0;
      // Of events that are gone, later entries may tell what those up to a mark do not.
      const incomplete = head.low > 1 || head.events < head.head;
      const mark = entries === 0 ? undefined : await this.#markOf(head.partition);
      if (mark !== undefined) {
        await this.#offerEntries(window, head.partition, incomplete ? entries : mark.entry);
        await this.#offerEvents(window, head, mark.position);
        if (await this.#isWhole(head.partition, mark)) continue;
      }
      // Without a mark, or with one that was compacted away in the meantime, everything is looked at.
      if (incomplete) await this.#offerEntries(window, head.partition, entries);
      await this.#offerEvents(window, head, head.low - 1);
    }
  }

  async #offerEntries(window: KeyWindow<DocumentWrite>, partition: number, through: Seq): Promise<void> {
    const topic = snapshotTopic(this.#topic.name);
    const stretch = { topic, partition, after: 0, through };
    for await (const page of scanPages(this.#host.store.log, stretch)) {
      for (const entry of page.events) {
        const event = sourceOf(entry, this.#topic.name);
        if (event !== null && event.ts <= this.ts) this.#offer(window, event);
      }
    }
  }

  async #offerEvents(window: KeyWindow<DocumentWrite>, head: PartitionHead, after: Seq): Promise<void> {
    const { log } = this.#host.store;
    const stretch = { topic: this.#topic.name, partition: head.partition, after, through: head.head };
    for await (const page of scanPages(log, stretch)) {
      for (const event of page.events) {
        if (event.ts > this.ts) continue;
        const mayRepeat = isForOneGroup(event.meta?.headers);
        if (!mayRepeat || !(await isRepeat(log, event, this.#topic))) this.#offer(window, event);
      }
    }
  }

  #offer(window: KeyWindow<DocumentWrite>, event: StoredEvent): void {
    const write = this.#writeOf(event, (key) => window.wants(key));
    if (write === undefined) return;
    const version = this.#source.versionOf?.(event.record as EventRecord<T>) ?? event.seq;
    window.offer({ key: write.key, version, value: write, bytes: event.size });
  }

  /** What the projector made of it, if anything: not of what it passed over, and not of what it gave up. */
  #writeOf(event: StoredEvent, wants: (key: string) => boolean = () => true): DocumentWrite | undefined {
    const record = event.record as EventRecord<T>;
    try {
      const key = keyIn(record, this.#source);
      return key !== null && wants(key) ? lastWrites([record], this.#source)[0] : undefined;
    } catch {
      return undefined;
    }
  }

  /** The newest mark whose events all stood at the time and whose entries are all still there. */
  async #markOf(partition: number): Promise<SnapshotMark | undefined> {
    const { marks } = await readMarks(this.#host.store, this.#topic.name, partition);
    const mark = marks.findLast(({ ts }) => ts <= this.ts);
    return mark !== undefined && (await this.#isWhole(partition, mark)) ? mark : undefined;
  }

  async #isWhole(partition: number, mark: SnapshotMark): Promise<boolean> {
    const reached = await compactionReached(this.#host, snapshotTopic(this.#topic.name), partition);
    return reached <= mark.entry;
  }
}

function documentOf<D>(write: DocumentWrite | undefined): ViewRecord<D> | null {
  if (write?.op !== "upsert") return null;
  const { key, version = 0, ts, fields } = write;
  return toRecord<D>({ key, version, ts, fields });
}

/** Only then does the newest event of a key say all about one document, as snapshots and the index by key need it. */
export function followsKeys<T>(source: ViewSource<T>): boolean {
  return source.keyOf === undefined && source.versionOf === undefined;
}
