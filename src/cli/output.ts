/** Data on stdout: tables for people, JSON for programs. Words that are no data go to stderr. */
import { fitText, printableText, textWidth } from "./text-width.js";

export type Cell = string | number | null | undefined;

export interface Column<T> {
  readonly title: string;
  readonly align?: "left" | "right";
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

/** As wide as its cells; nothing in them moves the cursor. */
export function tableLines<T>(rows: readonly T[], columns: readonly Column<T>[]): string[] {
  const texts = rows.map((row) => columns.map((column) => printableText(String(column.cell(row) ?? "–"))));
  const widths = columns.map(({ title }, i) =>
    Math.max(textWidth(title), ...texts.map((cells) => textWidth(cells[i] ?? ""))),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => fitText(cell, widths[i] ?? 0, columns[i]?.align ?? "left"))
      .join(GAP)
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...texts.map(line)];
}

/** "key: value" lines, aligned. */
export function factLines(facts: Readonly<Record<string, Cell>>): string {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null);
  const width = Math.max(0, ...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${printableText(String(value))}`).join("\n");
}
