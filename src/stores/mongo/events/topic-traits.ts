/**
 * What is fixed of a topic when it is defined, so that what was once read stays true: its layout (each event a document,
 * or those of an append in one), and whether its events are found by key by index. Were the latter to change, a writer
 * that has not heard of it would leave events out of the index.
 */
import type { TopicLayout } from "../../../model/topic.js";
import type { TopicDocument } from "../collections.js";
import { AskedTogether } from "../connection/asked-together.js";
import type { Connection } from "../connection/connection.js";

export interface TopicTraits {
  readonly layout: TopicLayout;
  /** Events that are appended get entries by key. */
  readonly keyEntries: boolean;
  /** Every event of the topic has them, so that whoever asks by key may go by them alone. */
  readonly keyIndex: boolean;
}

/** Nobody can tell yet what it will be: its events are ready for an index, and nobody counts on one. */
const UNDEFINED: TopicTraits = { layout: "documents", keyEntries: true, keyIndex: false };

/** Topics remembered at once; forgetting one costs a look. */
const MAX_KNOWN = 20_000;

export class KnownTraits {
  readonly #connection: Connection;
  readonly #known = new Map<string, TopicTraits>();
  readonly #looks = new AskedTogether<string, TopicTraits>((topics) => this.#look(topics));

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  known(topic: string): TopicTraits | undefined {
    return this.#known.get(topic);
  }

  of(topic: string): Promise<TopicTraits> {
    return this.#looks.ask(topic);
  }

  async #look(names: readonly string[]): Promise<TopicTraits[]> {
    const { topics } = this.#connection.collections;
    const projection = { layout: 1, keyIndex: 1 };
    const found = await topics.find({ _id: { $in: [...names] } }, { projection }).toArray();
    if (this.#known.size + found.length > MAX_KNOWN) this.#known.clear();
    for (const document of found) this.#known.set(document._id, traitsOf(document));
    return names.map((name) => this.#known.get(name) ?? UNDEFINED);
  }
}

/**
 * A topic without the mark was defined before there was one. Its batches have their keys beside them. Its documents may
 * lie in an index of all keys, which was made then; questions that do not name the mark are answered by it.
 */
function traitsOf({
  layout = "documents",
  keyIndex,
}: Pick<TopicDocument, "layout" | "keyIndex">): TopicTraits {
  const indexed = keyIndex ?? layout === "batches";
  return { layout, keyEntries: indexed, keyIndex: indexed };
}
