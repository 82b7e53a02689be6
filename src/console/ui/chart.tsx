/**
 * Charts over time: a crosshair with exact values, a zero line, and the same colour for the same series everywhere. The
 * arrows move the crosshair, and say what is there.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { clock } from "./format.js";
import { theme } from "./theme.js";

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
  /** Under the pointer, a place in the series; by the keyboard, a time: the series moves on while one listens. */
  const [pointed, setPointed] = useState<number | null>(null);
  const [pickedMs, setPickedMs] = useState<number | null>(null);
  const names = series.map(({ name }) => name).join("\n");
  const data = dataOf(times, series);
  const look = theme.value;
  useEffect(() => {
    const target = box.current;
    if (target === null) return;
    const made = new uPlot(optionsOf(target, { series, format, steps, height }, setPointed), data, target);
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
  const picked = pickedMs === null ? null : placeOf(times, pickedMs);
  useEffect(() => {
    const made = chart.current;
    if (made === null || pickedMs === null) return;
    made.setCursor({ left: made.valToPos(pickedMs / 1_000, "x"), top: 0 }, false);
    return () => made.setCursor({ left: -10, top: -10 }, false);
  }, [pickedMs, times]);
  const at = picked ?? pointed;
  const index = at ?? times.length - 1;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && pickedMs !== null) {
      event.stopPropagation();
      setPickedMs(null);
    }
    const next = moved(event.key, index, times.length);
    if (next === null) return;
    event.preventDefault();
    setPickedMs(times[next] ?? null);
  };
  const wordsAt = (place: number): string =>
    [
      clock(times[place] ?? 0),
      ...series.map(({ name, values }) => `${name} ${shown(values[place], format)}`),
    ].join(", ");
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
      <div
        role="slider"
        tabIndex={0}
        aria-label={`Time in the chart ${label}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={Math.max(0, picked ?? times.length - 1)}
        aria-valuetext={picked === null ? "newest" : wordsAt(picked)}
        onKeyDown={onKey}
        onBlur={() => setPickedMs(null)}
        class="focus-visible:outline-offset-[-2px]"
      >
        <div ref={box} class="w-full" style={{ height: `${height}px` }} aria-hidden="true" />
      </div>
    </figure>
  );
}

/** Where the arrows and their like lead to; null if the key is none of them. */
function moved(key: string, from: number, length: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: from - 1,
    ArrowRight: from + 1,
    PageUp: from - MANY_POINTS,
    PageDown: from + MANY_POINTS,
    Home: 0,
    End: length - 1,
  };
  const to = steps[key];
  return to === undefined || length === 0 ? null : Math.min(length - 1, Math.max(0, to));
}

const MANY_POINTS = 10;

/** The first that is not older; the time itself may have left the chart meanwhile. */
function placeOf(times: readonly number[], ms: number): number {
  const found = times.findIndex((time) => time >= ms);
  return found < 0 ? times.length - 1 : found;
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
  probe.style.forcedColorAdjust = "none";
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
