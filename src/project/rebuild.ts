/**
 * Rebuild: makes a view anew from its log beside the one in use, compares the two, and switches over in one write; the
 * old one stays for a way back. Readers notice nothing but the switch.
 *
 *   building --caught up--> comparing --switch--> done
 */
import { pause } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { canonicalText, type JsonObject } from "../model/json.js";
import type { Handle } from "../model/task.js";
import { topicName } from "../model/topic.js";
import type { Documents, ViewDocument } from "../ports/documents.js";
import { feedView } from "./changelog.js";
import type { Host } from "./host.js";
import { finiteTask } from "./running-task.js";
import { type ViewSource, viewSource } from "./view-definitions.js";
import { buildName, movePointer, readPointer, type ViewPointer } from "./view-pointer.js";
import { warmTable } from "./warm.js";

export interface RebuildOptions<T = unknown> {
  /** What its projector is told; known already of a projector that this process started. */
  readonly source?: ViewSource<T>;
  /** "snapshot": fill it from the topic's snapshot and go on from there, where the view allows that. Default "log". */
  readonly from?: "log" | "snapshot";
  /** False: build and compare, but leave the old view in use. */
  readonly switch?: boolean;
  /** Differing documents to show. Default 20. */
  readonly samples?: number;
  readonly actor?: string;
}

export interface ViewDifference {
  readonly key: string;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

export interface RebuildResult {
  readonly view: string;
  readonly from: string;
  readonly to: string;
  readonly switched: boolean;
  readonly same: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  readonly samples: readonly ViewDifference[];
}

export interface RebuildProgress {
  readonly [name: string]: unknown;
  readonly phase: "building" | "comparing" | "done";
  readonly events: number;
  readonly total: number;
  /** Seconds left at the present pace; null while that is not known. */
  readonly etaSeconds: number | null;
}

export interface RebuildHandle extends Handle<RebuildProgress> {
  readonly done: Promise<void>;
  readonly result: Promise<RebuildResult>;
}

const LOOK_MS = 50;
const PAGE = 500;

/**
 * @example
 * const rebuild = await rebuildView(bus, "processes");
 * console.log(await rebuild.result);
 */
export async function rebuildView<T>(
  host: Host,
  view: string,
  options: RebuildOptions<T> = {},
): Promise<RebuildHandle> {
  const source = options.source ?? (await viewSource<T>(host, view));
  const pointer = await readPointer(host.store.registry, view);
  const rebuild = new Rebuild(host, view, source, pointer, options);
  const { clock, tasks } = host;
  let resolve: (result: RebuildResult) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const result = new Promise<RebuildResult>((onResult, onError) => {
    resolve = onResult;
    reject = onError;
  });
  result.catch(() => undefined);
  const name = `rebuild ${view}`;
  const handle = finiteTask(
    { kind: "rebuild", name, clock, board: tasks, stats: () => rebuild.progress() },
    async (signal) => {
      try {
        resolve(await rebuild.run(signal));
      } catch (error) {
        reject(error);
        throw error;
      }
    },
  );
  return { ...handle, result };
}

/** Makes the view that counted before count again. */
export async function rollbackView(
  host: Host,
  view: string,
  actor = "bus",
): Promise<{ from: string; to: string }> {
  const { registry } = host.store;
  const pointer = await readPointer(registry, view);
  if (pointer.previous === null)
    throw new BusError("NOT_FOUND", `the view ${view} has nothing to go back to`);
  const to = { current: pointer.previous, previous: pointer.current, number: pointer.number };
  await movePointer(registry, view, pointer, to);
  await audit(host, actor, "view.rollback", view, { from: pointer.current, to: to.current });
  return { from: pointer.current, to: to.current };
}

class Rebuild<T> {
  readonly #host: Host;
  readonly #view: string;
  readonly #source: ViewSource<T>;
  readonly #pointer: ViewPointer;
  readonly #options: RebuildOptions<T>;
  readonly #startMs: number;
  readonly #stats = { events: 0, applied: 0, stale: 0, passedOver: 0 };
  #phase: RebuildProgress["phase"] = "building";
  #total = 0;

  constructor(
    host: Host,
    view: string,
    source: ViewSource<T>,
    pointer: ViewPointer,
    options: RebuildOptions<T>,
  ) {
    this.#host = host;
    this.#view = view;
    this.#source = source;
    this.#pointer = pointer;
    this.#options = options;
    this.#startMs = host.clock.steady();
  }

  progress(): RebuildProgress {
    const { events } = this.#stats;
    const seconds = (this.#host.clock.steady() - this.#startMs) / 1_000;
    const left = Math.max(0, this.#total - events);
    const etaSeconds =
      this.#phase === "done" ? 0 : events === 0 ? null : Math.round((left / events) * seconds);
    return { phase: this.#phase, events, total: this.#total, etaSeconds };
  }

  async run(signal: AbortSignal): Promise<RebuildResult> {
    const { documents, registry, groups } = this.#host.store;
    const number = this.#pointer.number + 1;
    const to = buildName(this.#view, number);
    const group = `changelog:${to}`;
    // What an earlier try left behind would be taken for finished work.
    await groups.remove({ topic: topicName(this.#source.topic), group });
    await documents.drop(to);
    if (this.#options.from === "snapshot") {
      const { entries } = await warmTable(this.#host, to, group, { ...this.#source, signal });
      this.#stats.events += entries;
    }
    const stop = await feedView(this.#host, to, group, { ...this.#source, view: to }, this.#stats);
    try {
      await this.#caughtUp(group, signal);
      this.#phase = "comparing";
      const from = this.#pointer.current;
      const differences = await compare(documents, from, to, this.#options.samples ?? 20, signal);
      const switched = this.#options.switch ?? true;
      if (switched) {
        await movePointer(registry, this.#view, this.#pointer, { current: to, previous: from, number });
        const counts = {
          same: differences.same,
          added: differences.added,
          removed: differences.removed,
          changed: differences.changed,
        };
        await audit(this.#host, this.#options.actor ?? "bus", "view.rebuild", this.#view, {
          from,
          to,
          ...counts,
        });
      }
      this.#phase = "done";
      return { view: this.#view, from, to, switched, ...differences };
    } finally {
      await stop();
    }
  }

  async #caughtUp(group: string, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#host;
    const topic = topicName(this.#source.topic);
    for (;;) {
      if (signal.aborted)
        throw new BusError("ABORTED", `the rebuild of ${this.#view} was stopped; the old view is in use`);
      const heads = await store.log.heads(topic);
      this.#total = heads.reduce((sum, { events }) => sum + events, 0);
      const state = await store.groups.state({ topic, group }, { nowMs: clock.now() });
      const floors = new Map(state?.leases.map(({ partition, cursor }) => [partition, cursor.floor]));
      if (heads.every(({ partition, head }) => (floors.get(partition) ?? 0) >= head)) return;
      await pause(clock, LOOK_MS, signal);
    }
  }
}

/** Both views in key order, side by side. Versions and times do not count: only what the documents say. */
async function compare(
  documents: Documents,
  from: string,
  to: string,
  samples: number,
  signal: AbortSignal,
): Promise<Pick<RebuildResult, "same" | "added" | "removed" | "changed" | "samples">> {
  const counts = { same: 0, added: 0, removed: 0, changed: 0 };
  const shown: ViewDifference[] = [];
  const before = all(documents, from);
  const after = all(documents, to);
  let old = (await before.next()).value;
  let now = (await after.next()).value;
  while (old !== undefined || now !== undefined) {
    if (signal.aborted) throw new BusError("ABORTED", "the comparison was stopped");
    const order =
      old === undefined
        ? 1
        : now === undefined
          ? -1
          : Buffer.compare(Buffer.from(old.key), Buffer.from(now.key));
    const pair = { old: order <= 0 ? old : undefined, now: order >= 0 ? now : undefined };
    const kind = kindOf(pair.old, pair.now);
    counts[kind]++;
    if (kind !== "same" && shown.length < samples) {
      const key = (pair.old ?? (pair.now as ViewDocument)).key;
      shown.push({ key, before: pair.old?.fields ?? null, after: pair.now?.fields ?? null });
    }
    if (order <= 0) old = (await before.next()).value;
    if (order >= 0) now = (await after.next()).value;
  }
  return { ...counts, samples: shown };
}

function kindOf(
  old: ViewDocument | undefined,
  now: ViewDocument | undefined,
): "same" | "added" | "removed" | "changed" {
  if (old === undefined) return "added";
  if (now === undefined) return "removed";
  return canonicalText(old.fields) === canonicalText(now.fields) ? "same" : "changed";
}

async function* all(documents: Documents, view: string): AsyncGenerator<ViewDocument, undefined> {
  for (let after: string | undefined; ; ) {
    const page = await documents.find(view, { limit: PAGE, ...(after !== undefined && { after }) });
    yield* page.documents;
    if (page.next === null) return undefined;
    after = page.next;
  }
}

async function audit(
  host: Host,
  actor: string,
  action: string,
  target: string,
  details: JsonObject,
): Promise<void> {
  await host.store.registry.audit({ atMs: host.clock.now(), actor, action, target, details });
}
