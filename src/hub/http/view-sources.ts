/**
 * Which topics a view is made of: those that the group `changelog:<view>` reads. They decide who may read the view, what
 * it was at an earlier time, and how far it has got. Of a view that something else makes, its name decides alone.
 */
import type { GroupRef } from "../../ports/groups.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { forbidden, type HubRequest, may } from "./base.js";

const KEEP_MS = 5_000;

export class ViewSources {
  readonly #hub: HubContext;
  #refs: readonly GroupRef[] = [];
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(hub: HubContext) {
    this.#hub = hub;
  }

  /** The group that makes it, once for each topic. */
  async of(view: string): Promise<readonly GroupRef[]> {
    const find = (): GroupRef[] => this.#refs.filter(({ group }) => group === `changelog:${view}`);
    const known = find();
    const { clock, store } = this.#hub.bus;
    if (known.length > 0 && clock.steady() - this.#readMs < KEEP_MS) return known;
    this.#refs = await store.groups.list();
    this.#readMs = clock.steady();
    return find();
  }

  async mayRead(c: HubRequest, view: string): Promise<boolean> {
    const sources = await this.of(view);
    if (sources.length === 0) return may(c, "read", view);
    return sources.every(({ topic }) => may(c, "read", topic));
  }

  /** FORBIDDEN in the same words whether the view exists or not. */
  async demand(c: HubRequest, view: string): Promise<void> {
    if (!(await this.mayRead(c, view))) throw forbidden("read", view);
  }

  /** The one group and topic behind it; `topic` chooses where several are. */
  async one(view: string, topic: string | undefined): Promise<GroupRef> {
    const sources = (await this.of(view)).filter((ref) => topic === undefined || ref.topic === topic);
    const [only] = sources;
    if (only !== undefined && sources.length === 1) return only;
    throw new HubError(
      "BAD_REQUEST",
      only === undefined
        ? `the hub does not know which topic ${view} is made of, which "at" and "min" need`
        : `${view} is made of several topics: name one`,
    );
  }
}
