/** Reports as Markdown tables, and their place in a page: between `<!-- figures: <suite> -->` and `<!-- end -->`. */
import { figure, stolenWords } from "./report-text.js";
import type { Report } from "./run-suite.js";
import type { Goal } from "./suite.js";

const PLACE = /(<!-- figures: (\S+) -->\n)[\s\S]*?(<!-- end -->)/g;

/** The page with the figures of these reports; what they do not have stays as it was. */
export function filledPage(page: string, reports: readonly Report[]): string {
  return page.replace(PLACE, (whole, begin: string, name: string, end: string) => {
    const report = reports.find(({ suite }) => suite === name);
    return report === undefined ? whole : `${begin}${reportMarkdown(report)}\n${end}`;
  });
}

export function reportMarkdown(report: Report): string {
  const { node, machine, rounds, figures, ratios, absent = [] } = report;
  const durable = figures.some(({ durability }) => durability !== undefined);
  const columns = ["", "median", "spread", "", ...(durable ? ["before the answer"] : [])];
  const rows = [
    ...figures.map((one) => [
      one.name,
      figure(one.median),
      spread(one.spreadPct),
      [one.unit, goal(one)].join(" ").trim(),
      one.durability ?? "",
    ]),
    ...ratios.map((one) => [one.name, `${figure(one.median)} ×`, spread(one.spreadPct), goal(one), ""]),
    ...absent.map(({ name, why }) => [name, "absent", "", why, ""]),
  ];
  return [
    `Medians of ${rounds} rounds, Node ${node}, ${machine}${stolenWords(report)}.`,
    "",
    line(columns),
    line(columns.map((_, i) => (i === 1 || i === 2 ? "--:" : "---"))),
    ...rows.map((row) => line(row.slice(0, columns.length))),
  ].join("\n");
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function spread(pct: number): string {
  return `±${(pct / 2).toFixed(0)} %`;
}

function goal({ atMost, atLeast, met }: Goal & { readonly met?: boolean }): string {
  if (met === undefined) return "";
  const wanted = atMost === undefined ? `goal: at least ${atLeast}` : `goal: at most ${atMost}`;
  return `(${wanted}, ${met ? "met" : "missed"})`;
}
