/** Lag of each partition over time, from when the page was first opened; kept while one looks at other pages. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { GroupLag } from "../../data/shapes.js";
import { Chart, WHOLE_STEPS } from "../../ui/chart.js";
import { si } from "../../ui/format.js";
import { colorsOf } from "./line-colors.js";

interface Point {
  readonly atMs: number;
  readonly lags: readonly number[];
}

const KEPT = 300;
const COLORS = ["lag", "delivered", "published", "acked", "dead", "warn", "handling", "good"];
const MAX_LINES = COLORS.length;
const pasts = new Map<string, readonly Point[]>();
const MAX_GROUPS = 50;

/** What its lines are. */
export function linesWords(partitions: number): string {
  return partitions > MAX_LINES
    ? `events, of the ${MAX_LINES} partitions furthest behind`
    : "events, by partition";
}

export function LagChart({ group, atMs }: { readonly group: GroupLag; readonly atMs: number }) {
  const key = `${group.topic}\n${group.group}`;
  const [points, setPoints] = useState<readonly Point[]>(pasts.get(key) ?? []);
  useEffect(() => {
    if (points.at(-1)?.atMs === atMs) return;
    const next = [...points, { atMs, lags: group.partitions.map(({ lag }) => lag) }].slice(-KEPT);
    if (pasts.size >= MAX_GROUPS) pasts.clear();
    pasts.set(key, next);
    setPoints(next);
  }, [atMs]);
  const worst = group.partitions
    .map(({ partition, lag }, index) => ({ partition, lag, index }))
    .sort((a, b) => b.lag - a.lag)
    .slice(0, MAX_LINES)
    .sort((a, b) => a.index - b.index);
  const colors = useRef<ReadonlyMap<number, string>>(new Map());
  colors.current = colorsOf(
    colors.current,
    worst.map(({ partition }) => partition),
    COLORS,
  );
  return (
    <Chart
      label={`Lag of ${group.group} on ${group.topic}, by partition`}
      height={190}
      times={points.map((point) => point.atMs)}
      format={si}
      steps={WHOLE_STEPS}
      series={worst.map(({ partition, index }) => ({
        name: `p${partition}`,
        color: colors.current.get(partition) ?? "lag",
        values: points.map(({ lags }) => lags[index] ?? null),
      }))}
    />
  );
}
