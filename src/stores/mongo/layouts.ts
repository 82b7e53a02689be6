/**
 * Which layout a topic has: each event a document, or those of an append in one (`layout` of a topic). It is fixed
 * when the topic is defined, so what was once read stays true.
 */
import type { TopicLayout } from "../../model/topic.js";
import type { Connection } from "./connection.js";

/** Topics remembered at once; forgetting one costs a look. */
const MAX_KNOWN = 20_000;

export class Layouts {
  readonly #connection: Connection;
  readonly #known = new Map<string, TopicLayout>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  known(topic: string): TopicLayout | undefined {
    return this.#known.get(topic);
  }

  /** A topic that nobody defined holds nothing yet, in whatever layout. */
  async of(topic: string): Promise<TopicLayout> {
    const known = this.#known.get(topic);
    if (known !== undefined) return known;
    const { topics } = this.#connection.collections;
    const document = await topics.findOne({ _id: topic }, { projection: { layout: 1 } });
    if (document === null) return "documents";
    const { layout = "documents" } = document;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(topic, layout);
    return layout;
  }
}
