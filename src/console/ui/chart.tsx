/** Charts over time: a crosshair with exact values, a zero line, and the same colour for the same series everywhere. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../app/theme.js";
import { clock } from "./format.js";

export interface ChartSeries {
  readonly name: string;
  /** A name of the palette. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  /** Milliseconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  /** How far apart the lines across may be, where a tenth or a hundred is no good step. */
  readonly steps?: readonly number[];
  readonly height?: number;
  readonly label: string;
}

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** Of what is counted there is no half. */
export const WHOLE_STEPS: readonly number[] = Array.from({ length: 12 }, (_, power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
).flat();

/** Seconds, minutes, hours and days as clocks divide them. */
export const SECONDS_STEPS: readonly number[] = [
  ...[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].map((days) => days * DAY),
];

export function Chart({ times, series, format, steps, height = 200, label }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const names = series.map(({ name }) => name).join("\n");
  const data = dataOf(times, series);
  const look = theme.value;
  useEffect(() => {
    const target = box.current;
    if (target === null) return;
    const made = new uPlot(optionsOf(target, { series, format, steps, height }, setAt), data, target);
    chart.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: target.clientWidth, height }));
    observer.observe(target);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [names, look, height]);
  useEffect(() => chart.current?.setData(data), [times]);
  const index = at ?? times.length - 1;
  return (
    <figure class="min-w-0" aria-label={label}>
      <figcaption class="flex flex-wrap items-center gap-x-4 gap-y-0.5 px-4 pt-3 text-xs">
        {series.map(({ name, color, values }) => (
          <span key={name} class="flex items-center gap-1.5">
            <span
              aria-hidden="true"
              class="inline-block h-0.5 w-3 rounded"
              style={{ background: `var(--color-${color})` }}
            />
            <span class="text-soft">{name}</span>
            <span class="min-w-[6ch] font-medium">{shown(values[index], format)}</span>
          </span>
        ))}
        <span class="ml-auto text-faint">{at === null ? "" : clock(times[at] ?? 0)}</span>
      </figcaption>
      <div ref={box} class="w-full" style={{ height: `${height}px` }} aria-hidden="true" />
    </figure>
  );
}

/** Of a single point no line can be drawn, and no sensible axis: it stands twice. */
function dataOf(times: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData {
  const twice = <T,>(values: readonly T[]): T[] =>
    values.length === 1 ? [...values, ...values] : [...values];
  const seconds = times.map((ms) => ms / 1_000);
  const [only] = seconds;
  const axis = seconds.length === 1 && only !== undefined ? [only - 1, only] : seconds;
  return [axis, ...series.map(({ values }) => twice(values))];
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}

/** A canvas needs colours as they come out, not as they are written. */
function colorOf(name: string, alpha = 1): string {
  const probe = document.createElement("span");
  probe.style.color = `color-mix(in srgb, var(--color-${name}) ${alpha * 100}%, transparent)`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const SHORTEST_SECONDS = 30;

/** Never less than half a minute, so that the first points do not fill the whole width. */
function timeRange(_: uPlot, min: number | null, max: number | null): [number, number] {
  const end = max ?? Date.now() / 1_000;
  return [Math.min(min ?? end, end - SHORTEST_SECONDS), end];
}

const LEAST_AXIS_PX = 44;
const DIGIT_PX = 6.5;

/** As wide as its longest label. */
function axisWidth(_: uPlot, labels: readonly string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map((label) => label.length));
  return Math.max(LEAST_AXIS_PX, Math.ceil(longest * DIGIT_PX) + 12);
}

function optionsOf(
  target: HTMLElement,
  chart: Required<Pick<ChartProps, "series" | "format" | "height">> & {
    readonly steps: readonly number[] | undefined;
  },
  onAt: (index: number | null) => void,
): uPlot.Options {
  const { series, format, steps, height } = chart;
  const axis = {
    stroke: colorOf("faint"),
    font: "11px ui-sans-serif, system-ui, sans-serif",
    grid: { stroke: colorOf("line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(50, target.clientWidth),
    height,
    legend: { show: false },
    padding: [12, 28, 0, 4],
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: "time" }, points: { size: 6 } },
    scales: {
      x: { time: true, range: timeRange },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        values: (_, splits) => splits.map((s) => clock(s * 1_000).slice(0, 8)),
        space: 90,
      },
      {
        ...axis,
        size: axisWidth,
        space: 36,
        values: (_, splits) => splits.map(format),
        ...(steps !== undefined && { incrs: [...steps] }),
      },
    ],
    series: [
      {},
      ...series.map(({ name, color }) => ({
        label: name,
        stroke: colorOf(color),
        ...(series.length === 1 && { fill: colorOf(color, 0.1) }),
        width: 1.5,
        spanGaps: true,
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onAt(cursor.idx ?? null)] },
  };
}
