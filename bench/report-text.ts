/** A report for people. */
import type { Report } from "./run-suite.js";
import type { Goal } from "./suite.js";

export function reportText(report: Report): string {
  const { suite, node, machine, rounds, figures, ratios, absent = [] } = report;
  const rows = [
    ["", "median", "spread", "unit"],
    ...figures.map((one) => [one.name, figure(one.median), spread(one.spreadPct), words(one.unit, one)]),
    ...ratios.map((one) => [one.name, figure(one.median), spread(one.spreadPct), words("×", one)]),
    ...absent.map(({ name, why }) => [name, "absent", "", why]),
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
  const head = `${suite}: Node ${node}, ${machine}; medians of ${rounds} rounds${stolenWords(report)}`;
  return [head, ...lines].join("\n");
}

/** ", 2.1 % of the processors' time taken by the host", if that is known. */
export function stolenWords({ stolenPct }: Pick<Report, "stolenPct">): string {
  return stolenPct === undefined
    ? ""
    : `, ${stolenPct.toFixed(1)} % of the processors' time taken by the host`;
}

export function figure(value: number): string {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 1_000 ? 1 : 0;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function spread(pct: number): string {
  return `±${(pct / 2).toFixed(0)} %`;
}

function words(unit: string, one: Goal & { readonly met?: boolean; readonly durability?: string }): string {
  const { atMost, atLeast, met, durability } = one;
  const wanted = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
  const judged = met === undefined ? unit : `${unit} (${wanted}: ${met ? "met" : "MISSED"})`;
  return durability === undefined ? judged : `${judged}; ${durability}`;
}
