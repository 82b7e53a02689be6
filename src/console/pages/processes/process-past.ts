/** How CPU and memory of each process went: from the newest events at first, then as one looks. */
import type { EventRecord, ViewRecord } from "../../data/shapes.js";

const KEPT = 60;

type Measure = "cpu" | "memory";

interface Point {
  readonly cpu: number;
  readonly memory: number;
}

export class ProcessPast {
  readonly #points = new Map<string, Point[]>();
  readonly #totals: Point[] = [];
  #takenMs = 0;

  of(key: string, measure: Measure): readonly number[] {
    return (this.#points.get(key) ?? []).map((point) => point[measure]);
  }

  total(measure: Measure): readonly number[] {
    return this.#totals.map((point) => point[measure]);
  }

  /** Events newest first, as the hub lists them; only for processes that nothing is known of. */
  seed(events: readonly EventRecord[]): void {
    const seeds = new Map<string, Point[]>();
    for (const { key, payload } of [...events].reverse()) {
      const point = pointOf(payload);
      if (key !== undefined && point !== null) seeds.set(key, [...(seeds.get(key) ?? []), point]);
    }
    for (const [key, points] of seeds) {
      const known = this.#points.get(key) ?? [];
      if (known.length < 2) this.#points.set(key, [...points, ...known].slice(-KEPT));
    }
  }

  /** The processes as they are now; those that are gone are forgotten. */
  take(items: readonly ViewRecord[], atMs: number): void {
    if (atMs <= this.#takenMs) return;
    this.#takenMs = atMs;
    const here = new Set(items.map(({ _key }) => _key));
    for (const key of this.#points.keys()) if (!here.has(key)) this.#points.delete(key);
    let [cpu, memory] = [0, 0];
    for (const item of items) {
      const point = pointOf(item);
      if (point === null) continue;
      this.#points.set(item._key, [...(this.#points.get(item._key) ?? []), point].slice(-KEPT));
      if (item.status !== "alive") continue;
      cpu += point.cpu;
      memory += point.memory;
    }
    this.#totals.push({ cpu, memory });
    if (this.#totals.length > KEPT) this.#totals.shift();
  }
}

function pointOf(value: unknown): Point | null {
  const { cpu_pct: cpu, mem_mb: memory } = Object(value) as { cpu_pct?: unknown; mem_mb?: unknown };
  return typeof cpu === "number" && typeof memory === "number" ? { cpu, memory } : null;
}
