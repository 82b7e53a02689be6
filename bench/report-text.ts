/** A report for people. */
import type { RatioResult, Report } from "./run-suite.js";

export function reportText({ suite, node, machine, rounds, figures, ratios }: Report): string {
  const rows = [
    ["", "median", "spread", "unit"],
    ...figures.map(({ name, unit, median, spreadPct }) => [name, figure(median), spread(spreadPct), unit]),
    ...ratios.map((ratio) => [ratio.name, figure(ratio.median), spread(ratio.spreadPct), goal(ratio)]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(([name = "", median = "", spreadOf = "", unit = ""]) =>
    [
      name.padEnd(widths[0] ?? 0),
      median.padStart(widths[1] ?? 0),
      spreadOf.padStart(widths[2] ?? 0),
      unit,
    ].join("  "),
  );
  return [`${suite}: Node ${node}, ${machine}; medians of ${rounds} rounds`, ...lines].join("\n");
}

function figure(value: number): string {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 1_000 ? 1 : 0;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function spread(pct: number): string {
  return `±${(pct / 2).toFixed(0)} %`;
}

function goal({ atMost, atLeast, met }: RatioResult): string {
  if (met === undefined) return "×";
  const wanted = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
  return `× (${wanted}: ${met ? "met" : "MISSED"})`;
}
