/** The way back from a rebuild: the build that counted before counts again, in one write. */
import { BusError } from "../../model/errors.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Registry } from "../../ports/registry.js";
import { checkHost, type Host } from "../host.js";
import { checkObject } from "../option-checks.js";
import { keeperOf, viewsOf } from "../views/kept-views.js";
import { checkViewName } from "../views/view.js";
import { movePointer, readPointer } from "../views/view-pointer.js";

/** Whether to go back, or only to say what that would mean; and who does it, for the audit. */
export interface RollbackOptions {
  /** Nothing is changed. */
  readonly dryRun?: boolean;
  readonly actor?: string;
}

/** What the way back means, or meant. */
export interface RolledBackView {
  readonly view: string;
  readonly rolledBack: boolean;
  readonly from: string;
  readonly to: string;
  /** Views that the same projector keeps: they go back with it. */
  readonly others: readonly string[];
}

const OPTIONS = namesOf<RollbackOptions>({ dryRun: true, actor: true });

/**
 * Makes the view that counted before a rebuild count again. NOT_FOUND if there is none.
 *
 * @example
 * await rollbackView(bus, "processes");
 */
export async function rollbackView(
  host: Host,
  view: string,
  options: RollbackOptions = {},
): Promise<RolledBackView> {
  checkHost(host);
  checkViewName(view);
  checkObject("rollbackView", options);
  checkOptionNames("rollbackView", options, OPTIONS);
  const { store, clock } = host;
  const { registry } = store;
  const { dryRun = false, actor = "bus" } = options;
  const pointer = await readPointer(registry, view);
  const { current: from, previous: to, number, replayed } = pointer;
  if (to === null) throw new BusError("NOT_FOUND", `the view ${view} has nothing to go back to`);
  const others = await othersOf(registry, view);
  if (dryRun) return { view, rolledBack: false, from, to, others };
  await movePointer(registry, view, pointer, { current: to, previous: from, number, replayed });
  const details = { from, to };
  await registry.audit({ atMs: clock.now(), actor, action: "view.rollback", target: view, details });
  return { view, rolledBack: true, from, to, others };
}

async function othersOf(registry: Registry, view: string): Promise<string[]> {
  const keeper = await keeperOf(registry, view);
  return keeper === null ? [] : (await viewsOf(registry, keeper)).filter((one) => one !== view);
}
