/** Where each node and line of the flow picture stands. Pure: numbers in, numbers out. */
import type { GroupStats, Stats } from "../../data/shapes.js";
import { isFarBehind } from "../../data/stats-past.js";
import { duration, si } from "../../ui/format.js";
import { viewOf } from "../views/feeder.js";

export const WIDTH = 1_080;
export const HEIGHT = 260;
const NODE_WIDTH = 230;
const ROW = 46;
const MAX_ROWS = 9;
const COLUMNS = [0, (WIDTH - NODE_WIDTH) / 2, WIDTH - NODE_WIDTH] as const;

export interface FlowNode {
  readonly id: string;
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly perSecond: number;
  readonly note?: string;
  readonly behind: boolean;
  readonly href: readonly (string | Readonly<Record<string, string>>)[];
}

export interface FlowLink {
  readonly id: string;
  readonly d: string;
  readonly width: number;
  readonly active: boolean;
  readonly behind: boolean;
}

export interface FlowLayout {
  readonly nodes: readonly FlowNode[];
  readonly links: readonly FlowLink[];
  readonly height: number;
}

/** The busiest topics with their groups; of these, the projectors' with their views. */
export function layoutOf(stats: Stats): FlowLayout {
  const rates = new Map(stats.topics.map(({ topic, publishedPerSecond }) => [topic, publishedPerSecond]));
  const groups = stats.groups
    .filter(({ topic, resting }) => !topic.startsWith("dlq.") && resting !== true)
    .sort((a, b) => weight(b, rates) - weight(a, rates))
    .slice(0, MAX_ROWS);
  const names = new Set([...groups.map(({ topic }) => topic), ...quietTopics(stats, rates)]);
  const busiest = [...names].sort((a, b) => (rates.get(b) ?? 0) - (rates.get(a) ?? 0)).slice(0, MAX_ROWS);
  // By name, so that nothing changes places because one rate passed another.
  const topics = busiest.sort(byText);
  groups.sort((a, b) => byText(a.topic, b.topic) || byText(a.group, b.group));
  const shown = groups.filter(({ topic }) => topics.includes(topic));
  const views = shown.filter(({ group }) => viewOf(group) !== null);
  const rows = Math.max(topics.length, shown.length, views.length);
  const height = Math.max(1, rows) * ROW + 8;
  const yOf = (i: number, of: number): number => height / 2 + (i - (of - 1) / 2) * ROW;
  const nodes = [
    ...topics.map((topic, i) => topicNode(topic, rates.get(topic) ?? 0, yOf(i, topics.length))),
    ...shown.map((group, i) => groupNode(group, yOf(i, shown.length))),
    ...views.map((group, i) => viewNode(group, yOf(i, views.length))),
  ];
  return { nodes, links: linksOf(shown, nodes, rates), height };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function linksOf(
  groups: readonly GroupStats[],
  nodes: readonly FlowNode[],
  rates: ReadonlyMap<string, number>,
): FlowLink[] {
  const at = new Map(nodes.map((node) => [node.id, node]));
  // What works through a backlog is delivered faster than anything is published.
  const top = Math.max(1, ...rates.values(), ...groups.map((group) => group.deliveredPerSecond ?? 0));
  return groups.flatMap((group) => {
    const perSecond = group.deliveredPerSecond ?? 0;
    const look = { width: 1.5 + (perSecond / top) * 12, active: perSecond > 0, behind: isBehind(group) };
    const from = at.get(`topic ${group.topic}`);
    const middle = at.get(groupId(group));
    const view = at.get(`view ${viewOf(group.group) ?? ""}`);
    const line = (a: FlowNode | undefined, b: FlowNode | undefined): FlowLink[] =>
      a === undefined || b === undefined ? [] : [{ id: `${a.id} ${b.id}`, d: curve(a, b), ...look }];
    return [...line(from, middle), ...line(middle, view)];
  });
}

function curve(a: FlowNode, b: FlowNode): string {
  const [x1, x2] = [a.x + a.width, b.x];
  const middle = (x1 + x2) / 2;
  return `M ${x1} ${a.y} C ${middle} ${a.y}, ${middle} ${b.y}, ${x2} ${b.y}`;
}

function topicNode(topic: string, perSecond: number, y: number): FlowNode {
  return {
    id: `topic ${topic}`,
    label: topic,
    x: COLUMNS[0],
    y,
    width: NODE_WIDTH,
    perSecond,
    behind: false,
    href: ["topics", topic],
  };
}

function groupNode(group: GroupStats, y: number): FlowNode {
  const behind = isBehind(group);
  const note =
    group.paused !== undefined
      ? `paused, ${si(group.lag)} wait`
      : behind
        ? `${si(group.lag)} behind, ${duration(group.lagSeconds)}`
        : undefined;
  return {
    id: groupId(group),
    label: group.group,
    x: COLUMNS[1],
    y,
    width: NODE_WIDTH,
    perSecond: group.deliveredPerSecond ?? 0,
    behind,
    href: ["groups", group.group, { topic: group.topic }],
    ...(note !== undefined && { note }),
  };
}

function viewNode(group: GroupStats, y: number): FlowNode {
  const view = viewOf(group.group) ?? "";
  return {
    id: `view ${view}`,
    label: view,
    x: COLUMNS[2],
    y,
    width: NODE_WIDTH,
    perSecond: group.deliveredPerSecond ?? 0,
    behind: false,
    note: "view",
    href: ["views", view],
  };
}

function quietTopics(stats: Stats, rates: ReadonlyMap<string, number>): string[] {
  return stats.topics
    .map(({ topic }) => topic)
    .filter((topic) => !topic.startsWith("dlq.") && (rates.get(topic) ?? 0) > 0);
}

function groupId({ topic, group }: GroupStats): string {
  return `group ${topic} ${group}`;
}

function weight(group: GroupStats, rates: ReadonlyMap<string, number>): number {
  return (rates.get(group.topic) ?? 0) + (group.deliveredPerSecond ?? 0) + (isBehind(group) ? 1e9 : 0);
}

function isBehind(group: GroupStats): boolean {
  return group.lag > 0 && (group.paused !== undefined || isFarBehind(group));
}
