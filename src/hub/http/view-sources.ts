/**
 * Which topic a view is made of, as its changelog projector wrote it down. The topic decides who may read the view, and
 * the projector's group how far it has got. Of a view that something else makes, its name decides alone.
 */
import { START_CURSOR } from "../../ports/groups.js";
import { isBuildName, viewOfBuild } from "../../project/views/view-pointer.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { forbidden, type HubRequest, may } from "./base.js";

const KEEP_MS = 5_000;
const MAX_KNOWN = 1_000;

export class ViewSources {
  readonly #hub: HubContext;
  readonly #topics = new Map<string, { readonly topic: string; readonly readMs: number }>();

  constructor(hub: HubContext) {
    this.#hub = hub;
  }

  /** Null if nobody wrote it down. */
  async topicOf(view: string): Promise<string | null> {
    const { clock } = this.#hub.bus;
    const known = this.#topics.get(view);
    if (known !== undefined && clock.steady() - known.readMs < KEEP_MS) return known.topic;
    const topic =
      (await this.#noted(view)) ?? (isBuildName(view) ? await this.#noted(viewOfBuild(view)) : null);
    if (this.#topics.size >= MAX_KNOWN) this.#topics.clear();
    if (topic === null) this.#topics.delete(view);
    else this.#topics.set(view, { topic, readMs: clock.steady() });
    return topic;
  }

  async mayRead(c: HubRequest, view: string): Promise<boolean> {
    return may(c, "read", (await this.topicOf(view)) ?? view);
  }

  /** FORBIDDEN in the same words whether the view exists or not. */
  async demand(c: HubRequest, view: string): Promise<void> {
    if (!(await this.mayRead(c, view))) throw forbidden("read", view);
  }

  /**
   * For those who look again and again: for each of the partitions, the newest event below which the view has taken in everything.
   * Whether the topic has them is asked until it is known, and then no more: they never change.
   */
  looks(view: string, group: string | undefined, partitions: readonly number[]): () => Promise<number[]> {
    let areThere = false;
    return async () => {
      const { topic, floors } = await this.#floors(view, group);
      if (!areThere)
        areThere =
          partitions.every((partition) => floors.has(partition)) ||
          (await this.#isWithin(topic, Math.max(...partitions)));
      return partitions.map((partition) => floors.get(partition) ?? START_CURSOR.floor);
    };
  }

  async #floors(
    view: string,
    group: string | undefined,
  ): Promise<{ topic: string; floors: ReadonlyMap<number, number> }> {
    const topic = await this.topicOf(view);
    if (topic === null)
      throw new HubError(
        "BAD_REQUEST",
        `the hub does not know which topic ${view} is made of, which "min" needs`,
      );
    const position = await this.#hub.bus.getCursor(topic, group ?? `changelog:${await this.#table(view)}`);
    if (position === null && group === undefined)
      throw new HubError(
        "BAD_REQUEST",
        `the projector of ${view} has a group of its own: name it as "group"`,
      );
    return { topic, floors: new Map(position?.partitions.map(({ partition, floor }) => [partition, floor])) };
  }

  /** Whoever names a partition that the topic does not have, and never will, would wait in vain. False: there is no such topic yet. */
  async #isWithin(topic: string, partition: number): Promise<boolean> {
    const config = await this.#hub.bus.store.registry.topic(topic);
    if (config !== null && partition >= config.partitions)
      throw new HubError(
        "BAD_REQUEST",
        `"min" names partition ${partition}, but ${topic} has ${config.partitions}, counted from 0`,
      );
    return config !== null;
  }

  async #noted(view: string): Promise<string | null> {
    const token = await this.#hub.bus.store.registry.token(`view:${view}`);
    const topic = (token?.value as { topic?: unknown } | undefined)?.topic;
    return typeof topic === "string" ? topic : null;
  }

  async #table(view: string): Promise<string> {
    const token = await this.#hub.bus.store.registry.token(`view-pointer:${view}`);
    const current = (token?.value as { current?: unknown } | undefined)?.current;
    return typeof current === "string" ? current : view;
  }
}
