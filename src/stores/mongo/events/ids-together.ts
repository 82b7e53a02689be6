/** Ids that several appends look for at about the same time, looked for by one command: among many topics each brings a few. */
import type { StoredEvent } from "../../../model/event.js";
import { AskedTogether } from "../connection/asked-together.js";

type Find = (ids: readonly string[]) => Promise<readonly StoredEvent[]>;

const MOST = { items: 1_024, bytes: 4_096 };

export class IdsTogether {
  readonly #find: Find;
  readonly #together: AskedTogether<readonly string[], StoredEvent[]>;

  /** `find`: the events under these ids, in any order. */
  constructor(find: Find) {
    this.#find = find;
    this.#together = new AskedTogether((lists) => this.#findAll(lists), {
      most: MOST,
      sizeOf: (ids) => ids.length,
    });
  }

  async find(ids: readonly string[]): Promise<StoredEvent[]> {
    return ids.length === 0 ? [] : await this.#together.ask(ids);
  }

  async #findAll(lists: readonly (readonly string[])[]): Promise<StoredEvent[][]> {
    const events = await this.#find([...new Set(lists.flat())]);
    const byId = new Map(events.map((event) => [event.id, event]));
    return lists.map((ids) => ids.flatMap((id) => byId.get(id) ?? []));
  }
}
