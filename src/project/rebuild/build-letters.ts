/**
 * Dead letters that the group of a build leaves while a view is made anew. What it gave up is not in the build; and nobody
 * can bring a letter back to the group of a build that was not put in use.
 */
import { deadLetterId } from "../../model/derived-id.js";
import type { Seq } from "../../model/event.js";
import { deadLetterTopic } from "../../model/topic.js";
import type { Host } from "../host.js";
import { inLots, type Letter, settleLetters } from "../letters/dead-letters.js";
import { lettersBehind, outcomesView } from "../letters/letter-reading.js";

export class BuildLetters {
  readonly #host: Host;
  readonly #topic: string;
  readonly #group: string;
  /** Where the dead letters ended before the build was begun. */
  readonly #places: ReadonlyMap<number, Seq>;

  private constructor(host: Host, topic: string, group: string, places: ReadonlyMap<number, Seq>) {
    this.#host = host;
    this.#topic = topic;
    this.#group = group;
    this.#places = places;
  }

  /** To be called before the group has its first event. */
  static async of(host: Host, topic: string, group: string): Promise<BuildLetters> {
    const name = deadLetterTopic(topic);
    // Nothing, if nothing was ever given up.
    const heads = (await host.store.log.headsOf([name])).get(name) ?? [];
    return new BuildLetters(
      host,
      topic,
      group,
      new Map(heads.map(({ partition, head }) => [partition, head])),
    );
  }

  /** How many events it gave up, but for those that the group of the build in use has given up, too. */
  async missing(inUse: string): Promise<number> {
    let missing = 0;
    for await (const letter of this.#all()) if (!(await this.#isGivenUpBy(inUse, letter))) missing++;
    return missing;
  }

  async discard(): Promise<void> {
    const fate = {
      status: "discarded",
      outcome: `${this.#group} fed a build that was not put in use`,
    } as const;
    for await (const letters of inLots(this.#all()))
      await settleLetters(
        this.#host,
        this.#topic,
        letters.map((letter) => ({ letter, ...fate })),
      );
  }

  async *#all(): AsyncGenerator<Letter> {
    for await (const letter of lettersBehind(this.#host, this.#topic, new Map(this.#places)))
      if (letter.origin.group === this.#group) yield letter;
  }

  /** And has not had it back since. */
  async #isGivenUpBy(group: string, { origin }: Letter): Promise<boolean> {
    const { log, documents } = this.#host.store;
    const id = deadLetterId(this.#topic, group, origin.id);
    if ((await log.find(id)) === null) return false;
    const outcome = (await documents.get(outcomesView(this.#topic), [id])).get(id);
    return outcome?.fields["status"] !== "redriven";
  }
}
