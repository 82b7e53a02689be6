/**
 * Publishes to a topic whose configuration is not at hand yet wait for it in the order of their calls, and whoever comes
 * while somebody waits goes behind: no publish overtakes an earlier one of its topic.
 */
import { type TopicConfig, type TopicRef, topicName } from "../model/topic.js";

interface Arrival {
  go(config: TopicConfig): void;
  fail(error: unknown): void;
}

export class Arrivals {
  readonly #known: (topic: TopicRef) => TopicConfig | undefined;
  readonly #resolve: (topic: TopicRef) => Promise<TopicConfig>;
  readonly #waiting = new Map<string, Arrival[]>();

  constructor(
    known: (topic: TopicRef) => TopicConfig | undefined,
    resolve: (topic: TopicRef) => Promise<TopicConfig>,
  ) {
    this.#known = known;
    this.#resolve = resolve;
  }

  /** Calls `use` with the topic's configuration: at once if it is known and nobody waits, else in turn. */
  with<R>(topic: TopicRef, use: (config: TopicConfig) => R | Promise<R>): R | Promise<R> {
    const name = topicName(topic);
    const waiting = this.#waiting.get(name);
    const config = waiting === undefined ? this.#known(topic) : undefined;
    if (config !== undefined) return use(config);
    return new Promise<R>((resolve, reject) => {
      const go = (found: TopicConfig): void => {
        try {
          resolve(use(found));
        } catch (error) {
          reject(error);
        }
      };
      if (waiting !== undefined) {
        waiting.push({ go, fail: reject });
      } else {
        this.#waiting.set(name, [{ go, fail: reject }]);
        void this.#admit(topic, name);
      }
    });
  }

  async #admit(topic: TopicRef, name: string): Promise<void> {
    const everyone = (act: (arrival: Arrival) => void): void => {
      this.#waiting.get(name)?.forEach(act);
      this.#waiting.delete(name);
    };
    try {
      const config = await this.#resolve(topic);
      everyone(({ go }) => go(config));
    } catch (error) {
      everyone(({ fail }) => fail(error));
    }
  }
}
