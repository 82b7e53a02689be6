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

  /** The topic's configuration, if it is known and nobody waits for it: then there is no need to wait either. */
  configNow(topic: TopicRef): TopicConfig | undefined {
    return this.#waiting.size > 0 && this.#waiting.has(topicName(topic)) ? undefined : this.#known(topic);
  }

  /** Tells `arrival` the configuration in turn, or that there is none. What `go` throws is told to `fail`. */
  wait(topic: TopicRef, arrival: Arrival): void {
    const name = topicName(topic);
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) {
      waiting.push(arrival);
      return;
    }
    this.#waiting.set(name, [arrival]);
    void this.#admit(topic, name);
  }

  async #admit(topic: TopicRef, name: string): Promise<void> {
    let tell: (arrival: Arrival) => void;
    try {
      const config = await this.#resolve(topic);
      tell = (arrival) => goOrFail(arrival, config);
    } catch (error) {
      tell = ({ fail }) => fail(error);
    }
    // Whoever comes while they are told stands behind them, and is told as well.
    for (const arrival of this.#waiting.get(name) ?? []) tell(arrival);
    this.#waiting.delete(name);
  }
}

function goOrFail(arrival: Arrival, config: TopicConfig): void {
  try {
    arrival.go(config);
  } catch (error) {
    arrival.fail(error);
  }
}
