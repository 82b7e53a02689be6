/** Data on stdout: tables for people, JSON for programs. Words that are no data go to stderr. */
import { terminalColumns } from "./event-line.js";
import { fitText, printableText, textWidth } from "./text-width.js";

export type Cell = string | number | null | undefined;

export interface Column<T> {
  readonly title: string;
  readonly align?: "left" | "right";
  /** Never cut: an id that people copy. */
  readonly whole?: true;
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

/** As wide as its cells, or as the terminal: there, the longest texts are cut. Nothing in them moves the cursor. */
export function tableLines<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  room = terminalColumns(),
): string[] {
  const texts = rows.map((row) => columns.map((column) => printableText(String(column.cell(row) ?? "–"))));
  const wanted = columns.map(({ title }, i) =>
    Math.max(textWidth(title), ...texts.map((cells) => textWidth(cells[i] ?? ""))),
  );
  const widths = room === undefined ? wanted : fittingWidths(columns, wanted, room);
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => fitText(cell, widths[i] ?? 0, columns[i]?.align ?? "left"))
      .join(GAP)
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...texts.map(line)];
}

const NARROWEST = 10;

/** The widest columns give way, down to where a text still tells something; numbers and ids stay. What cannot fit wraps. */
function fittingWidths<T>(columns: readonly Column<T>[], wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  const least = columns.map(({ title, align, whole }, i) =>
    align === "right" || whole
      ? Number.POSITIVE_INFINITY
      : Math.max(textWidth(title), NARROWEST, i === 0 ? 16 : 0),
  );
  let over = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - room;
  while (over > 0) {
    const spare = widths.map((width, i) => (width > (least[i] ?? 0) ? width : 0));
    const widest = Math.max(...spare);
    if (widest === 0)
      return wanted.map((width, i) =>
        least[i] === Number.POSITIVE_INFINITY ? width : Math.min(width, room),
      );
    const at = spare.indexOf(widest);
    const next = Math.max(least[at] ?? 0, ...spare.filter((_, i) => i !== at));
    const cut = Math.min(over, Math.max(1, widest - next));
    widths[at] = widest - cut;
    over -= cut;
  }
  return widths;
}

/** "key: value" lines, aligned. */
export function factLines(facts: Readonly<Record<string, Cell>>): string {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null);
  const width = Math.max(0, ...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${printableText(String(value))}`).join("\n");
}
