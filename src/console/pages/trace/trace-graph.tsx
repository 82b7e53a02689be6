/** The graph: events as nodes from left to right by time, lanes by topic, lines by cause. */
import { useEffect, useRef } from "preact/hooks";
import type { Trace } from "../../data/shapes.js";
import { duration, visible } from "../../ui/format.js";
import { LANE, LEFT, NODE_HEIGHT, NODE_WIDTH, placesOf } from "./trace-layout.js";

interface GraphProps {
  readonly trace: Trace;
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
}

export function TraceGraph({ trace, chosen, onChoose }: GraphProps) {
  const { nodes, lanes, width, height } = placesOf(trace);
  const at = new Map(nodes.map((node) => [node.event.id, node]));
  const scroller = useRef<HTMLDivElement>(null);
  // The event that was asked for may stand far to the right.
  useEffect(() => {
    const box = scroller.current;
    const node = chosen === null ? undefined : at.get(chosen);
    if (box === null || node === undefined) return;
    const isSeen = node.x >= box.scrollLeft && node.x + NODE_WIDTH <= box.scrollLeft + box.clientWidth;
    if (!isSeen) box.scrollLeft = node.x + NODE_WIDTH / 2 - box.clientWidth / 2;
  }, [chosen]);
  return (
    <div ref={scroller} class="overflow-auto">
      <div class="relative min-w-full" style={{ width: `${width}px`, height: `${height}px` }}>
        {lanes.map((topic, i) => (
          <div
            key={topic}
            class={`absolute inset-x-0 border-line odd:bg-sunken ${i < lanes.length - 1 ? "border-b" : ""}`}
            style={{ top: `${i * LANE}px`, height: `${LANE}px` }}
          >
            <span
              class="sticky left-0 inline-block truncate px-4 pt-2 text-xs font-medium text-soft"
              style={{ maxWidth: `${LEFT}px` }}
              title={topic}
            >
              {topic}
            </span>
          </div>
        ))}
        <svg width={width} height={height} class="pointer-events-none absolute inset-0" aria-hidden="true">
          {trace.edges.map(({ from, to }) => {
            const [a, b] = [at.get(from), at.get(to)];
            if (a === undefined || b === undefined) return null;
            const isChosen = from === chosen || to === chosen;
            return (
              <path
                key={`${from} ${to}`}
                d={curve(a.x + NODE_WIDTH, a.y, b.x, b.y)}
                fill="none"
                stroke={isChosen ? "var(--color-ember)" : "var(--color-line-strong)"}
                stroke-width={isChosen ? 2 : 1.5}
              />
            );
          })}
        </svg>
        {nodes.map(({ event, x, y, sinceFirstMs }) => (
          <button
            key={event.id}
            type="button"
            aria-pressed={event.id === chosen}
            title={event.id}
            onClick={() => onChoose(event.id)}
            style={{
              left: `${x}px`,
              top: `${y - NODE_HEIGHT / 2}px`,
              width: `${NODE_WIDTH}px`,
              height: `${NODE_HEIGHT}px`,
            }}
            class={`absolute flex flex-col justify-center rounded-md border bg-surface px-2.5 text-left ${event.id === chosen ? "border-ember shadow-[0_0_0_1px_var(--color-ember)]" : "border-line-strong hover:border-ember"}`}
          >
            <span class="mono truncate text-xs">{visible(event.key ?? event.id.slice(0, 13))}</span>
            <span class="text-2xs text-faint">
              {event.id === trace.root ? "this event · " : ""}+{duration(sinceFirstMs / 1_000)}
            </span>
          </button>
        ))}
      </div>
    </div>
  );
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const bend = Math.max(24, Math.abs(x2 - x1) / 2);
  return `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`;
}
