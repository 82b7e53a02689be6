/**
 * Reads of what is new in several partitions, asked for at about the same time and sent as one command: among a thousand topics
 * each has an event or two, and a command costs the server many times what a document in it does.
 *
 * Only who reached the end the last time takes part. Others are behind: their pages are worth a command each, and are better
 * read side by side than one after the other.
 */
import type { Document } from "mongodb";
import { addToList } from "../../../model/add-to-list.js";
import type { Seq } from "../../../model/event.js";
import { AskedTogether } from "../connection/asked-together.js";
import { nameOf, type Place } from "./event-lookup.js";

const MAX_DOCUMENTS = 4_096;
const MAX_NEAR = 20_000;
/** What the server puts into one reply, and no document is larger. */
export const REPLY_BYTES = 16 * 1_048_576;

/** Documents of one partition, in order; all that there were, or the first. */
export interface Stretch<D> {
  readonly documents: readonly D[];
  readonly isWhole: boolean;
}

export interface ReadSource<D> {
  /** What fits, by place and in order: as many as that, unless a reply is full before. */
  find(filter: Document, limit: number): Promise<readonly D[]>;
  placeOf(document: D): Place;
  bytesOf(document: D): number;
}

/** What fits `filter` lies behind `after` in `place`. */
export interface PlaceQuery {
  readonly place: Place;
  readonly after: Seq;
  readonly filter: Document;
}

interface Question {
  readonly name: string;
  readonly filter: Document;
}

export class ReadsTogether<D> {
  readonly #source: ReadSource<D>;
  /** null: it has to be asked for alone. */
  readonly #together: AskedTogether<Question, readonly D[] | null>;
  /** Behind which seq a read reached the end, by the partition's name. */
  readonly #near = new Map<string, Seq>();

  constructor(source: ReadSource<D>) {
    this.#source = source;
    this.#together = new AskedTogether((questions) => this.#findAll(questions));
  }

  /** Everything that fits; `alone` reads the same, or the beginning of it. */
  async read({ place, after, filter }: PlaceQuery, alone: () => Promise<Stretch<D>>): Promise<Stretch<D>> {
    const name = nameOf(place);
    const isNear = after >= (this.#near.get(name) ?? Number.POSITIVE_INFINITY);
    const found = isNear ? await this.#together.ask({ name, filter }) : null;
    const stretch = found === null ? await alone() : { documents: found, isWhole: true };
    if (stretch.isWhole) this.#noteNear(name, after);
    else if (isNear) this.#near.delete(name);
    return stretch;
  }

  #noteNear(name: string, after: Seq): void {
    if (this.#near.size >= MAX_NEAR) this.#near.clear();
    this.#near.set(name, Math.max(after, this.#near.get(name) ?? 0));
  }

  async #findAll(questions: readonly Question[]): Promise<readonly (readonly D[] | null)[]> {
    const asked = new Map<string, Question>();
    for (const question of questions) if (!asked.has(question.name)) asked.set(question.name, question);
    // Alone it has bounds of its own.
    if (asked.size === 1) return questions.map(() => null);
    const found = await this.#findByName([...asked.values()].map(({ filter }) => filter));
    // Of those who ask for the same partition, one is told.
    return questions.map((question) => (asked.get(question.name) === question ? found(question.name) : null));
  }

  /** What there is in each partition; null: it was not told of. */
  async #findByName(filters: readonly Document[]): Promise<(name: string) => readonly D[] | null> {
    const documents = await this.#source.find({ $or: filters }, MAX_DOCUMENTS);
    const byName = new Map<string, D[]>();
    let bytes = 0;
    let last = "";
    for (const document of documents) {
      last = nameOf(this.#source.placeOf(document));
      addToList(byName, last, document);
      bytes += this.#source.bytesOf(document);
    }
    // A reply that is not nearly full holds everything. Of a full one, the last partition and those behind it are not told.
    const isWhole = documents.length < MAX_DOCUMENTS && bytes < REPLY_BYTES / 2;
    if (!isWhole) byName.delete(last);
    return (name) => byName.get(name) ?? (isWhole ? [] : null);
  }
}
