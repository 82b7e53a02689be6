/** Where events go: topics at the left, the groups that read them, the views these feed. Width by rate. */

import type { Stats } from "../../data/shapes.js";
import { rate, visible } from "../../ui/format.js";
import { Link } from "../../ui/link.js";
import { to } from "../../ui/router.js";
import { Empty } from "../../ui/states.js";
import { type FlowNode, HEIGHT, layoutOf, WIDTH } from "./flow-layout.js";

const NODE_HALF = 17;

export function Flow({ stats }: { readonly stats: Stats }) {
  const { nodes, links, height } = layoutOf(stats);
  if (nodes.length === 0) {
    return (
      <Empty title="Nothing flows yet" command={`promethean publish orders.placed '{"order":7}'`}>
        Publish an event, and its topic appears here with the groups that read it.
      </Empty>
    );
  }
  return (
    <div class="overflow-x-auto p-4">
      <svg
        viewBox={`0 0 ${WIDTH} ${height}`}
        class="w-full min-w-2xl"
        style={{ maxHeight: `${Math.max(height, HEIGHT)}px` }}
      >
        <title>Topics, the groups that read them, and the views these feed</title>
        {links.map(({ id, d, width, active, behind }) => (
          <path
            key={id}
            d={d}
            fill="none"
            stroke={behind ? "var(--color-warn)" : active ? "var(--color-ember)" : "var(--color-line-strong)"}
            stroke-opacity={active || behind ? 0.45 : 0.8}
            stroke-width={width}
          />
        ))}
        {nodes.map((node) => (
          <Node key={node.id} node={node} />
        ))}
      </svg>
    </div>
  );
}

function Node({ node }: { readonly node: FlowNode }) {
  const { x, y, width, label, perSecond, note, href } = node;
  return (
    <Link href={to(...href)} class="group">
      <title>{`${label}: ${note ?? rate(perSecond)}`}</title>
      <rect
        x={x}
        y={y - NODE_HALF}
        width={width}
        height={NODE_HALF * 2}
        rx="6"
        fill="var(--color-surface)"
        stroke={node.behind ? "var(--color-warn)" : "var(--color-line-strong)"}
        class="group-hover:stroke-ember"
      />
      <text x={x + 10} y={y - 1} font-size="12" font-weight="500" fill="var(--color-ink)">
        {clip(visible(label))}
      </text>
      <text
        x={x + 10}
        y={y + 12}
        font-size="10.500"
        fill={node.behind ? "var(--color-warn)" : "var(--color-soft)"}
      >
        {note ?? rate(perSecond)}
      </text>
    </Link>
  );
}

function clip(label: string): string {
  return label.length > 30 ? `${label.slice(0, 29)}…` : label;
}
