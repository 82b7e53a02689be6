/**
 * A report as an SVG picture: a panel for each kind of figure (what stands before ": " in the names, and the unit), a
 * bar for each figure, a whisker from the least to the greatest measurement. Bars are as wide as their share of the
 * panel's greatest. Colours follow the reader's light or dark theme.
 */
import { figure } from "./report-text.js";
import type { FigureResult, Report } from "./run-suite.js";

const WIDTH = 860;
const LABEL = 300;
const VALUE = 150;
const BAR = WIDTH - LABEL - VALUE;
const ROW = 24;
const HEAD = 40;
const GAP = 14;

/** Ours, among others; told by the name. */
const OURS = /embedded|hub|memory|bus|here|promethean/i;

const STYLE = `
text{font:13px system-ui,sans-serif;fill:#1f2328}
.title{font-weight:600}.quiet{fill:#636c76;font-size:12px}
.bar{fill:#9aa4b2}.ours{fill:#d9622b}.whisker{stroke:#1f2328;stroke-opacity:.55}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.bar{fill:#59636e}.ours{fill:#f0834c}.whisker{stroke:#e6edf3}}`;

interface Panel {
  readonly title: string;
  readonly figures: readonly FigureResult[];
}

/** Figures whose names begin with `only`; all of them if that is empty. */
export function chartSvg(report: Report, only: string): string {
  const panels = panelsOf(report.figures.filter(({ name }) => name.startsWith(only)));
  const parts: string[] = [];
  let top = 0;
  for (const panel of panels) {
    parts.push(panelSvg(panel, top));
    top += HEAD + panel.figures.length * ROW + GAP;
  }
  const height = top + 24;
  const source = `Medians of ${report.rounds} rounds; whiskers from least to greatest. Node ${report.node}, ${report.machine}.`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(`${report.suite}: ${panels.map(({ title }) => title).join("; ")}`)}</title>`,
    `<style>${STYLE}</style>`,
    ...parts,
    `<text class="quiet" x="0" y="${top + 10}">${escaped(source)}</text>`,
    "</svg>\n",
  ].join("\n");
}

function panelsOf(figures: readonly FigureResult[]): Panel[] {
  const panels = new Map<string, FigureResult[]>();
  for (const one of figures) {
    const title = `${kindOf(one.name)}, ${one.unit}`;
    const panel = panels.get(title);
    if (panel === undefined) panels.set(title, [one]);
    else panel.push(one);
  }
  return [...panels].map(([title, of]) => ({ title, figures: of }));
}

function panelSvg({ title, figures }: Panel, top: number): string {
  const most = Math.max(...figures.map(({ max }) => max), Number.MIN_VALUE);
  const rows = figures.map((one, i) => rowSvg(one, top + HEAD + i * ROW, (value) => (BAR * value) / most));
  return [`<text class="title" x="0" y="${top + 24}">${escaped(title)}</text>`, ...rows].join("\n");
}

function rowSvg(one: FigureResult, y: number, wide: (value: number) => number): string {
  const name = subjectOf(one.name);
  const middle = y + ROW / 2 - 3;
  const [from, to] = [round(LABEL + wide(one.min)), round(LABEL + wide(one.max))];
  return [
    `<g><title>${escaped(one.durability === undefined ? one.name : `${one.name} (${one.durability})`)}</title>`,
    `<text x="${LABEL - 10}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>`,
    `<rect class="${OURS.test(name) ? "ours" : "bar"}" x="${LABEL}" y="${y}" width="${round(wide(one.median))}" height="${ROW - 6}" rx="2"/>`,
    `<path class="whisker" d="M${from} ${middle}H${to}M${from} ${middle - 4}v8M${to} ${middle - 4}v8"/>`,
    `<text x="${Math.max(to, round(LABEL + wide(one.median))) + 8}" y="${middle + 4}">${figure(one.median)}</text></g>`,
  ].join("");
}

function kindOf(name: string): string {
  const end = name.indexOf(": ");
  return end < 0 ? "figures" : name.slice(0, end);
}

function subjectOf(name: string): string {
  const end = name.indexOf(": ");
  return end < 0 ? name : name.slice(end + 2);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
