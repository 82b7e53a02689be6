/**
 * One picture of the live table: as many lines as the terminal has at most, none wider than it. Columns that do not fit
 * are left out, the least important first; the names and the bars share what is left over.
 */
import type { Colors } from "picocolors/types.js";
import type { ProcessState } from "../project/process/process-topics.js";
import { bar, count, counted, duration, memorySize } from "./quantities.js";
import { clipText, fitText, printableText, textWidth } from "./text-width.js";

export interface TableFigures {
  /** Events of this run. */
  readonly published: number;
  readonly delivered: number;
  /** Events that the projector has yet to handle. */
  readonly lag: number;
  readonly uptimeMs: number;
  /** Where the events are kept. */
  readonly store: string;
  /** What went wrong lately, if anything. */
  readonly trouble: string | undefined;
}

export interface FrameSize {
  readonly columns: number;
  readonly lines: number;
}

interface Column {
  readonly title: string;
  readonly width: number;
  /** Takes its share of what is left over, up to this. */
  readonly maxWidth?: number;
  readonly align: "left" | "right";
  /** Columns with the highest number are left out first. */
  readonly order: number;
  cell(state: ProcessState, nowMs: number, width: number): string;
}

const GAP = 2;

const COLUMNS: readonly Column[] = [
  {
    title: "PROCESS",
    width: 16,
    maxWidth: 28,
    align: "left",
    order: 0,
    cell: ({ name }) => printableText(name),
  },
  { title: "PID", width: 7, align: "right", order: 2, cell: ({ pid }) => String(pid) },
  { title: "CPU %", width: 6, align: "right", order: 1, cell: ({ cpu_pct }) => cpu_pct.toFixed(1) },
  {
    title: "",
    width: 8,
    maxWidth: 40,
    align: "left",
    order: 6,
    cell: ({ cpu_pct }, _nowMs, width) => bar(cpu_pct / 100, width),
  },
  { title: "MEMORY", width: 9, align: "right", order: 3, cell: ({ mem_mb }) => memorySize(mem_mb) },
  { title: "STATUS", width: 6, align: "left", order: 4, cell: ({ status }) => status },
  {
    title: "SEEN",
    width: 6,
    align: "right",
    order: 5,
    cell: ({ last_seen_ts }, nowMs) => seen(nowMs - last_seen_ts),
  },
  {
    title: "HOST",
    width: 12,
    maxWidth: 30,
    align: "left",
    order: 7,
    cell: ({ host }) => printableText(host),
  },
];

export function tableFrame(
  states: readonly ProcessState[],
  figures: TableFigures,
  { columns, lines }: FrameSize,
  nowMs: number,
  colors: Colors,
): string[] {
  const layout = layOut(columns);
  const head = [
    colors.bold(titleLine(states, figures, columns)),
    clipText(`${flow(figures)}; ${figures.store}`, columns),
    figures.trouble === undefined ? "" : colors.yellow(clipText(printableText(figures.trouble), columns)),
    colors.dim(rowText(layout, columns, ({ column, width }) => fitText(column.title, width, column.align))),
  ];
  const room = Math.max(0, lines - head.length);
  const shown = states.length <= room ? states : states.slice(0, Math.max(0, room - 1));
  const rows = shown.map((state) => {
    const cell = ({ column, width }: Placed): string =>
      fitText(column.cell(state, nowMs, width), width, column.align);
    return paint(rowText(layout, columns, cell), state, colors);
  });
  const hidden = states.length - shown.length;
  const rest = hidden > 0 && room > 0 ? [colors.dim(clipText(`… and ${count(hidden)} more`, columns))] : [];
  return [...head, ...rows, ...rest].slice(0, lines);
}

interface Placed {
  readonly column: Column;
  readonly width: number;
}

/** The columns that fit, in their order on the screen, with their widths. */
function layOut(columns: number): Placed[] {
  const kept = COLUMNS.filter(
    ({ order }) => widthOf(COLUMNS.filter((other) => other.order <= order)) <= columns,
  );
  const chosen = kept.length > 0 ? kept : COLUMNS.slice(0, 1);
  let left = Math.max(0, columns - widthOf(chosen));
  const widths = new Map(chosen.map((column) => [column, column.width]));
  while (left > 0) {
    const growing = chosen.filter((column) => (column.maxWidth ?? 0) > (widths.get(column) ?? 0));
    if (growing.length === 0) break;
    for (const column of growing.slice(0, left)) widths.set(column, (widths.get(column) ?? 0) + 1);
    left -= Math.min(left, growing.length);
  }
  return chosen.map((column) => ({ column, width: widths.get(column) ?? column.width }));
}

function widthOf(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0) + GAP * Math.max(0, columns.length - 1);
}

function rowText(layout: readonly Placed[], columns: number, cell: (placed: Placed) => string): string {
  return clipText(layout.map(cell).join(" ".repeat(GAP)).trimEnd(), columns);
}

function paint(line: string, { status, cpu_pct }: ProcessState, colors: Colors): string {
  if (status === "stale") return colors.dim(line);
  return cpu_pct >= 50 ? colors.bold(line) : line;
}

function titleLine(states: readonly ProcessState[], { uptimeMs }: TableFigures, columns: number): string {
  const stale = states.filter(({ status }) => status === "stale").length;
  const left = `Promethean: ${counted(states.length, "process", "processes")}, ${count(stale)} stale`;
  const right = `up ${duration(uptimeMs)}`;
  const gap = columns - textWidth(left) - textWidth(right);
  return gap < GAP ? clipText(left, columns) : left + " ".repeat(gap) + right;
}

function flow({ published, delivered, lag }: TableFigures): string {
  return `${counted(published, "event")} published, ${count(delivered)} delivered, lag ${count(lag)}`;
}

function seen(ageMs: number): string {
  return ageMs < 1_000 ? "now" : duration(ageMs, 1);
}

/** For those who read a log instead of a screen. */
export function plainLine(states: readonly ProcessState[], figures: TableFigures, nowMs: number): string {
  const stale = states.filter(({ status }) => status === "stale").length;
  const trouble = figures.trouble === undefined ? "" : `; ${printableText(figures.trouble)}`;
  const processes = counted(states.length, "process", "processes");
  return `${new Date(nowMs).toISOString()} ${processes}, ${count(stale)} stale; ${flow(figures)}${trouble}`;
}

/** One line that is kept up to date, cut to the terminal. */
export function statusLine(
  states: readonly ProcessState[],
  figures: TableFigures,
  columns: number | undefined,
): string {
  const processes = counted(states.length, "process", "processes");
  const trouble = figures.trouble === undefined ? "" : `; ${printableText(figures.trouble)}`;
  return clipText(
    `  ${processes}; ${flow(figures)}; up ${duration(figures.uptimeMs)}${trouble}`,
    (columns || 80) - 1,
  );
}

/** The last word. */
export function summaryLine(states: readonly ProcessState[], figures: TableFigures): string {
  const processes = counted(states.length, "process", "processes");
  return `Stopped after ${duration(figures.uptimeMs)}: ${processes}, ${flow(figures)}.`;
}
