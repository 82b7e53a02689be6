/**
 * Publishes to a topic whose configuration is not at hand yet wait for it in the order of their calls, and whoever comes
 * while somebody waits goes behind: no publish overtakes an earlier one of its topic. A topic comes into being for those alone that it
 * will take: whoever names a partition that it would not have is refused before.
 */
import { type TopicConfig, type TopicRef, topicName } from "../model/topic.js";

interface Arrival {
  go(config: TopicConfig): void;
  fail(error: unknown): void;
  /** Throws if a topic that is to be made will not take it; absent if any will. */
  check?(partitions: number): void;
}

/** How topics are found, and made. */
export interface ArrivalsOptions {
  readonly known: (topic: TopicRef) => TopicConfig | undefined;
  readonly resolve: (topic: TopicRef) => Promise<TopicConfig>;
  /** How many partitions the topic will have once it is made; null if it is there. */
  readonly partitionsToBe: (topic: TopicRef) => Promise<number | null>;
}

export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #waiting = new Map<string, Arrival[]>();

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  /** The topic's configuration, if it is known and nobody waits for it: then there is no need to wait either. */
  configNow(topic: TopicRef): TopicConfig | undefined {
    return this.#waiting.size > 0 && this.#waiting.has(topicName(topic))
      ? undefined
      : this.#options.known(topic);
  }

  /** Tells `arrival` the configuration in turn, or that there is none. What `go` throws is told to `fail`. */
  wait(topic: TopicRef, arrival: Arrival): void {
    const name = topicName(topic);
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) {
      waiting.push(arrival);
      return;
    }
    const first = [arrival];
    this.#waiting.set(name, first);
    void this.#admit(topic, name, first);
  }

  async #admit(topic: TopicRef, name: string, waiting: Arrival[]): Promise<void> {
    let tell: (arrival: Arrival) => void;
    try {
      if (waiting.some(({ check }) => check !== undefined)) {
        const partitions = await this.#options.partitionsToBe(topic);
        if (partitions !== null) refuseMisfits(waiting, partitions);
      }
      if (waiting.length === 0) {
        this.#waiting.delete(name);
        return;
      }
      const config = await this.#options.resolve(topic);
      tell = (arrival) => goOrFail(arrival, config);
    } catch (error) {
      tell = ({ fail }) => fail(error);
    }
    // Whoever comes while they are told stands behind them, and is told as well.
    for (const arrival of waiting) tell(arrival);
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

/** Takes them out of those who wait. Whoever comes in answer to a refusal stands behind the others, and is looked at as well. */
function refuseMisfits(waiting: Arrival[], partitions: number): void {
  for (let i = 0; i < waiting.length; ) {
    const arrival = waiting[i] as Arrival;
    try {
      arrival.check?.(partitions);
      i++;
    } catch (error) {
      waiting.splice(i, 1);
      arrival.fail(error);
    }
  }
}
