/** The visits of one test: they end with it, and tell what went wrong in any of their pages. */
import type { Page } from "playwright-core";
import { type Visit, visit } from "./browser.js";

export class Visits {
  #open: Visit[] = [];

  async begin(...how: Parameters<typeof visit>): Promise<Page> {
    const visited = await visit(...how);
    this.#open.push(visited);
    return visited.page;
  }

  async end(): Promise<string[]> {
    const visits = this.#open;
    this.#open = [];
    for (const { context } of visits) await context.close();
    return visits.flatMap(({ errors }) => errors);
  }
}
