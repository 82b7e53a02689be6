/** Data on stdout: tables for people, JSON for programs. Words that are no data go to stderr. */
import { terminalColumns } from "./event-line.js";
import { fitText, printableText, textWidth } from "./text-width.js";

export type Cell = string | number | null | undefined;

export interface Column<T> {
  readonly title: string;
  readonly align?: "left" | "right";
  /** Never cut: an id that people copy. */
  readonly whole?: true;
  /** Left out where the terminal has no room for it, the highest first. */
  readonly spare?: number;
  cell(row: T): Cell;
}

const GAP = "  ";

export class Output {
  readonly json: boolean;

  constructor(json: boolean) {
    this.json = json;
  }

  /** One value: as JSON, or as its text. */
  value(value: unknown, text: string): void {
    this.line(this.json ? JSON.stringify(value) : text);
  }

  /** Many rows: one JSON array, or a table; `none` stands for an empty one. */
  table<T>(rows: readonly T[], columns: readonly Column<T>[], none: string): void {
    if (this.json) this.line(JSON.stringify(rows));
    else if (rows.length === 0) this.note(none);
    else for (const line of tableLines(rows, columns)) this.line(line);
  }

  /** A line of data. */
  line(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** A remark for people; programs are not told. */
  note(text: string): void {
    if (!this.json) process.stderr.write(`${text}\n`);
  }
}

interface Measured<T> {
  readonly column: Column<T>;
  readonly texts: readonly string[];
  readonly wanted: number;
  /** Cut to this, it still tells something; what people count by or copy is not cut. */
  readonly least: number;
}

/**
 * As wide as its cells, or as the terminal: there, columns that can be spared go if need be, and the longest texts are cut.
 * Nothing in them moves the cursor.
 */
export function tableLines<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  room = terminalColumns(),
): string[] {
  const all = columns.map((column, i) => measured(rows, column, i === 0 ? FIRST_NARROWEST : NARROWEST));
  const shown = room === undefined ? all : withoutSpare(all, room);
  const widths = room === undefined ? shown.map(({ wanted }) => wanted) : fittingWidths(shown, room);
  const line = (cellOf: (column: Measured<T>) => string): string =>
    shown
      .map((column, i) => fitText(cellOf(column), widths[i] ?? 0, column.column.align ?? "left"))
      .join(GAP)
      .trimEnd();
  return [line(({ column }) => column.title), ...rows.map((_, row) => line(({ texts }) => texts[row] ?? ""))];
}

const NARROWEST = 10;
const FIRST_NARROWEST = 16;

function measured<T>(rows: readonly T[], column: Column<T>, narrowest: number): Measured<T> {
  const texts = rows.map((row) => printableText(String(column.cell(row) ?? "–")));
  const wanted = Math.max(textWidth(column.title), ...texts.map(textWidth));
  const least = Math.min(wanted, Math.max(textWidth(column.title), narrowest));
  return { column, texts, wanted, least: isCut(column) ? least : wanted };
}

function withoutSpare<T>(columns: readonly Measured<T>[], room: number): readonly Measured<T>[] {
  let shown = columns;
  while (widthOf(shown.map(({ least }) => least)) > room) {
    const spare = Math.max(...shown.map(({ column }) => column.spare ?? 0));
    if (spare === 0) break;
    shown = shown.filter(({ column }) => column.spare !== spare);
  }
  return shown;
}

function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}

/** The widest columns give way, down to where a text still tells something. What cannot fit wraps. */
function fittingWidths<T>(columns: readonly Measured<T>[], room: number): number[] {
  const least = columns.map((column) => column.least);
  if (widthOf(least) > room)
    return columns.map(({ column, wanted }) => (isCut(column) ? Math.min(wanted, room) : wanted));
  const widths = columns.map(({ wanted }) => wanted);
  for (let over = widthOf(widths) - room; over > 0; ) {
    const spare = widths.map((width, i) => (width > (least[i] ?? 0) ? width : 0));
    const widest = Math.max(...spare);
    const at = spare.indexOf(widest);
    const next = Math.max(least[at] ?? 0, ...spare.filter((_, i) => i !== at));
    const cut = Math.min(over, Math.max(1, widest - next));
    widths[at] = widest - cut;
    over -= cut;
  }
  return widths;
}

/** Numbers and ids stay as they are. */
function isCut<T>({ align, whole }: Column<T>): boolean {
  return align !== "right" && whole !== true;
}

/** "key: value" lines, aligned. */
export function factLines(facts: Readonly<Record<string, Cell>>): string {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null);
  const width = Math.max(0, ...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${printableText(String(value))}`).join("\n");
}
