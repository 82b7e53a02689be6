/**
 * Dense tables: sticky head, sortable columns, rows that open. Sort order is in the address; beyond VIRTUAL_ROWS only
 * what can be seen is drawn. `j`/`k` and the arrows move, Enter opens.
 */
import { ArrowDown, ArrowUp } from "lucide-preact";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { sentenceCase } from "./format.js";
import { query, setQuery } from "./router.js";
import { isPhone } from "./screen.js";
import { useVirtual } from "./virtual.js";

const ROW_PX = 33;
const PHONE_ROW_PX = 41;
const VIRTUAL_ROWS = 100;

export interface Column<R> {
  readonly id: string;
  readonly head: ComponentChildren;
  readonly cell: (row: R) => ComponentChildren;
  /** Makes the column sortable. */
  readonly sort?: (row: R) => number | string;
  readonly align?: "right";
  /** Left out on narrow screens; "tablet": on phones alone. */
  readonly wide?: boolean | "tablet";
  /** Takes what room there is, and is cut where there is too little; "phone": on phones alone. */
  readonly grow?: boolean | "phone";
}

interface TableProps<R> {
  readonly name: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly rowKey: (row: R) => string;
  readonly onOpen?: (row: R) => void;
  /** Which row's panel is open. */
  readonly open?: string | null;
  readonly empty?: ComponentChildren;
  /** Column id, "-" in front for descending. */
  readonly sorted?: string;
  /** Fills its parent and scrolls within. */
  readonly tall?: boolean;
  readonly rowTone?: (row: R) => RowTone | undefined;
}

type RowTone = "bad" | "warn";

const TONES: Readonly<Record<RowTone, string>> = {
  bad: "shadow-[inset_2px_0_0_var(--color-bad)]",
  warn: "shadow-[inset_2px_0_0_var(--color-warn)]",
};

export function Table<R>(props: TableProps<R>) {
  const { columns, rows, rowKey, onOpen, name, empty } = props;
  const order = query(`${name}.sort`) ?? props.sorted ?? "";
  const sorted = useMemo(() => sortRows(rows, columns, order), [rows, order]);
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(-1);
  const isLong = sorted.length > VIRTUAL_ROWS;
  const window = useVirtual({
    scroller,
    count: isLong ? sorted.length : 0,
    size: isPhone.value ? PHONE_ROW_PX : ROW_PX,
  });
  const shown = isLong ? window.items.map(({ index }) => index) : sorted.map((_, i) => i);
  useRowKeys(scroller, sorted.length, active, (index) => {
    setActive(index);
    if (isLong) window.scrollTo(index);
  });
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <div
      ref={scroller}
      data-table={name}
      class={`relative overflow-auto print:max-h-none print:overflow-visible ${props.tall || isLong ? "max-h-[max(20rem,calc(100vh-13rem))]" : ""}`}
    >
      <table
        aria-label={sentenceCase(name)}
        class="w-full border-collapse text-sm"
        aria-rowcount={sorted.length + 1}
      >
        <thead class="sticky top-0 z-10 bg-surface">
          <tr>
            {columns.map((column) => (
              <HeadCell
                key={column.id}
                column={column}
                order={order}
                name={name}
                edge={edgeOf(columns, column)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {isLong && <Spacer px={window.before} columns={columns.length} />}
          {shown.map((index) => {
            const row = sorted[index] as R;
            const key = rowKey(row);
            return (
              <Row
                // A window over a fast list shows other rows every moment: its elements stay, their text changes.
                key={isLong ? index - (shown[0] ?? 0) : key}
                index={index}
                row={row}
                columns={columns}
                open={props.open === key}
                tabbable={index === Math.max(0, active)}
                {...(onOpen && { onOpen })}
                tone={props.rowTone?.(row)}
                onFocus={() => setActive(index)}
              />
            );
          })}
          {isLong && <Spacer px={window.after} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

function hiddenWhere(wide: Column<unknown>["wide"]): string {
  return wide === "tablet" ? "max-sm:hidden" : wide ? "max-lg:hidden" : "";
}

/** The last column keeps its distance from the edge, also where the ones after it are not shown. */
function edgeOf<R>(columns: readonly Column<R>[], column: Column<R>): string {
  const isLast = (shown: (wide: Column<R>["wide"]) => boolean): boolean =>
    column === columns.findLast(({ wide }) => shown(wide));
  return `${isLast((wide) => wide !== true) ? "max-lg:pr-4" : ""} ${isLast((wide) => !wide) ? "max-sm:pr-4" : ""}`;
}

function HeadCell<R>(props: {
  readonly column: Column<R>;
  readonly order: string;
  readonly name: string;
  readonly edge: string;
}) {
  const { column, order, name, edge } = props;
  const { id, head, sort, align, wide } = column;
  const mark = order === id ? "ascending" : order === `-${id}` ? "descending" : undefined;
  const look = `h-8 border-b border-line px-3 max-sm:px-2 text-left text-xs font-medium whitespace-nowrap text-soft first:pl-4 last:pr-4 ${align === "right" ? "text-right" : ""} ${hiddenWhere(wide)} ${column.grow === "phone" ? "max-sm:w-full" : column.grow ? "w-full" : ""} ${edge}`;
  if (sort === undefined)
    return (
      <th scope="col" class={look}>
        <span class="inline-flex items-center align-middle">{head}</span>
      </th>
    );
  const Icon = mark === "ascending" ? ArrowUp : ArrowDown;
  return (
    <th scope="col" class={look} aria-sort={mark ?? "none"}>
      <button
        type="button"
        class={`inline-flex items-center gap-1 rounded-sm align-middle hover:text-ink max-sm:h-10 ${align === "right" ? "flex-row-reverse" : ""}`}
        onClick={() => setQuery({ [`${name}.sort`]: order === `-${id}` ? id : `-${id}` })}
      >
        {head}
        <Icon size={12} aria-hidden="true" class={mark === undefined ? "opacity-0" : ""} />
      </button>
    </th>
  );
}

function Row<R>(props: {
  readonly index: number;
  readonly row: R;
  readonly columns: readonly Column<R>[];
  readonly open: boolean;
  readonly tabbable: boolean;
  readonly onOpen?: (row: R) => void;
  readonly tone: RowTone | undefined;
  readonly onFocus: () => void;
}) {
  const { row, columns, onOpen, open } = props;
  const look = open ? "bg-ember-wash" : "hover:bg-sunken";
  return (
    <tr
      data-row={props.index}
      {...(onOpen && { tabIndex: props.tabbable ? 0 : -1 })}
      aria-rowindex={props.index + 2}
      aria-current={open ? "true" : undefined}
      onFocus={props.onFocus}
      onClick={(event) => {
        if (!(event.target as Element).closest("a, button, input, label")) onOpen?.(row);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.target === event.currentTarget) onOpen?.(row);
      }}
      class={`border-b border-line last:border-b-0 focus-visible:outline-offset-[-2px] ${onOpen ? "cursor-pointer" : ""} ${look} ${props.tone === undefined ? "" : TONES[props.tone]}`}
    >
      {columns.map((column) => {
        const { id, cell, align, wide, grow } = column;
        return (
          <td
            key={id}
            class={`h-8 px-3 max-sm:h-10 max-sm:px-2 first:pl-4 last:pr-4 ${align === "right" ? "text-right" : ""} ${hiddenWhere(wide)} ${widthOf(grow)} ${edgeOf(columns, column)}`}
            onMouseEnter={nameIfCut}
          >
            {cell(row)}
          </td>
        );
      })}
    </tr>
  );
}

function widthOf(grow: Column<unknown>["grow"]): string {
  if (grow === true) return "max-w-0 min-w-32 truncate max-sm:min-w-24 max-xs:min-w-16";
  const most = "truncate max-w-72 max-lg:max-w-60";
  return grow === "phone"
    ? `${most} max-sm:max-w-0 max-sm:min-w-28 max-xs:min-w-16`
    : `${most} max-sm:max-w-36 max-xs:max-w-32`;
}

/** What does not fit its column can be read by resting on it. */
function nameIfCut({ currentTarget: cell }: MouseEvent & { readonly currentTarget: HTMLElement }): void {
  const isCut = cell.scrollWidth > cell.clientWidth;
  if (isCut) cell.title = cell.textContent ?? "";
  else cell.removeAttribute("title");
}

function Spacer({ px, columns }: { readonly px: number; readonly columns: number }) {
  if (px <= 0) return null;
  return (
    <tr>
      <td colSpan={columns} style={{ height: `${px}px`, padding: 0 }} />
    </tr>
  );
}

export function sortRows<R>(rows: readonly R[], columns: readonly Column<R>[], order: string): readonly R[] {
  const descending = order.startsWith("-");
  const sort = columns.find(({ id }) => id === order.replace(/^-/, ""))?.sort;
  if (sort === undefined) return rows;
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [sort(a), sort(b)];
    return x === y ? 0 : (x < y ? -1 : 1) * sign;
  });
}

/** The page's main table answers to j, k and the arrows wherever the focus is, except in fields. */
function useRowKeys(
  scroller: { readonly current: HTMLDivElement | null },
  count: number,
  active: number,
  move: (index: number) => void,
): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const box = scroller.current;
      const inside = box?.contains(document.activeElement) === true;
      const step = stepOf(event, inside);
      if (step === 0 || box === null || count === 0 || isTyping(event.target)) return;
      if (!inside && document.querySelector("[data-table]") !== box) return;
      event.preventDefault();
      const next = Math.min(count - 1, Math.max(0, active + step));
      move(next);
      requestAnimationFrame(() => box.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus());
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}

function stepOf(event: KeyboardEvent, inside: boolean): number {
  if (event.ctrlKey || event.metaKey || event.altKey) return 0;
  if (event.key === "j" || (inside && event.key === "ArrowDown")) return 1;
  if (event.key === "k" || (inside && event.key === "ArrowUp")) return -1;
  return 0;
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}
