/**
 * Where the nodes of a trace stand: one column for each step of time, one lane for each topic. Columns, not a scale:
 * causes follow each other in milliseconds, and then wait for hours. Pure.
 */
import type { EventRecord, Trace } from "../../data/shapes.js";

export const LANE = 84;
export const LEFT = 160;
export const NODE_WIDTH = 136;
export const NODE_HEIGHT = 44;
const COLUMN = 176;

export interface PlacedEvent {
  readonly event: EventRecord;
  readonly x: number;
  readonly y: number;
  readonly sinceFirstMs: number;
}

export interface Places {
  readonly nodes: readonly PlacedEvent[];
  readonly lanes: readonly string[];
  readonly width: number;
  readonly height: number;
}

export function placesOf({ events, edges }: Pick<Trace, "events" | "edges">): Places {
  const depths = depthsOf(events, edges);
  const depthOf = ({ id }: EventRecord): number => depths.get(id) ?? 0;
  const sorted = [...events].sort((a, b) => a.ts - b.ts || depthOf(a) - depthOf(b) || a.seq - b.seq);
  const lanes = [...new Set(sorted.map(({ topic }) => topic))];
  const first = sorted[0]?.ts ?? 0;
  const taken = new Map<string, number>();
  const nodes = sorted.map((event): PlacedEvent => {
    const { topic, ts } = event;
    // Of two in one lane, the later one stands further right, whatever caused it.
    const column = Math.max(depthOf(event), (taken.get(topic) ?? -1) + 1);
    taken.set(topic, column);
    const lane = lanes.indexOf(topic);
    return {
      event,
      x: LEFT + column * COLUMN,
      y: lane * LANE + LANE / 2 + 6,
      sinceFirstMs: Math.max(0, ts - first),
    };
  });
  const right = Math.max(0, ...nodes.map(({ x }) => x));
  return { nodes, lanes, width: right + COLUMN, height: Math.max(1, lanes.length) * LANE };
}

/** The longest way from an event without a known cause. */
function depthsOf(events: readonly EventRecord[], edges: Trace["edges"]): Map<string, number> {
  const depths = new Map(events.map(({ id }) => [id, 0]));
  for (let round = 0; round < events.length; round++) {
    let changed = false;
    for (const { from, to } of edges) {
      const depth = (depths.get(from) ?? 0) + 1;
      if (depth > (depths.get(to) ?? 0) && depth <= events.length) {
        depths.set(to, depth);
        changed = true;
      }
    }
    if (!changed) break;
  }
  return depths;
}
