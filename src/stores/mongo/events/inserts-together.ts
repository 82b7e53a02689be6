/**
 * Inserts for several partitions that are asked for at about the same time, sent as one command: a command costs the server many
 * times what a document in it does, and among a thousand topics each event is an insert.
 *
 * In order, as each partition wants it: so what stands behind the first document that is kept out was not tried. Of those
 * partitions each goes alone then, lest one rival after the other holds them all up. A place that an open transaction has taken
 * makes the server wait until that is over, which may be a minute if its process stopped: it is told not to wait for long,
 * and each partition goes alone for a while.
 */
import { AskedTogether } from "../connection/asked-together.js";
import { isTimeUp } from "../connection/errors.js";
import type { Inserted } from "./insert-outcome.js";

/** A command is one document for the server, of 16 MiB at most; a character takes up to three bytes. */
export const COMMAND_CHARACTERS = 4 * 1_048_576;
const MAX_PARTITIONS = 1_024;
/** After losing a place, a partition goes alone for so long: its rival is likely to be there again. */
const RIVAL_MS = 10_000;
const MAX_RIVALS = 20_000;
/** Longer than an election leaves a majority without news: whatever is that slow is slow for each alone, too. */
const TOGETHER_MS = 5_000;

/** `maxMs`: how long the server may take for it. */
type Insert = (documents: readonly object[], maxMs?: number) => Promise<Inserted>;

interface Part {
  readonly name: string;
  readonly documents: readonly object[];
  /** About so many, at least. */
  readonly characters: number;
}

export class InsertsTogether {
  readonly #insert: Insert;
  readonly #together: AskedTogether<Part, Inserted>;
  /** When each partition lost its place to another writer, or was held up with others, by its name. */
  readonly #lostAt = new Map<string, number>();

  constructor(insert: Insert) {
    this.#insert = insert;
    this.#together = new AskedTogether((parts) => this.#insertAll(parts), {
      most: { items: MAX_PARTITIONS, bytes: COMMAND_CHARACTERS },
      sizeOf: ({ characters }) => characters,
    });
  }

  async insert(name: string, documents: readonly object[], characters: number): Promise<Inserted> {
    const inserted = this.#hasRival(name)
      ? await this.#insert(documents)
      : await this.#together.ask({ name, documents, characters });
    if (inserted.stop === "seq taken") this.#noteRival(name);
    return inserted;
  }

  async #insertAll(parts: readonly Part[]): Promise<readonly Inserted[]> {
    const documents = parts.flatMap((part) => part.documents);
    const inserted = await this.#insert(documents, parts.length === 1 ? undefined : TOGETHER_MS);
    if (parts.length > 1 && isTimeUp(inserted.error)) for (const { name } of parts) this.#noteRival(name);
    const told = outcomesOf(inserted, parts);
    const rest = parts.slice(told.length);
    return [...told, ...(await Promise.all(rest.map(({ documents }) => this.#insert(documents))))];
  }

  #hasRival(name: string): boolean {
    const lostAt = this.#lostAt.get(name);
    if (lostAt === undefined) return false;
    if (performance.now() - lostAt < RIVAL_MS) return true;
    this.#lostAt.delete(name);
    return false;
  }

  #noteRival(name: string): void {
    if (this.#lostAt.size >= MAX_RIVALS) this.#lostAt.clear();
    this.#lostAt.set(name, performance.now());
  }
}

/** What became of each part, up to the one that was stopped; not of that one if the whole command may have been refused. */
function outcomesOf({ count, stop, at, error }: Inserted, parts: readonly Part[]): Inserted[] {
  if (parts.length === 1 || stop === "unknown") return parts.map(() => ({ count, stop, at, error }));
  const told: Inserted[] = [];
  let left = count;
  for (const { documents } of parts) {
    if (left < documents.length) {
      if (stop !== "refused" || left > 0) told.push({ count: left, stop, at, error });
      return told;
    }
    told.push({ count: documents.length, stop: "none", at });
    left -= documents.length;
  }
  return told;
}
