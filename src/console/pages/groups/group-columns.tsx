/** Groups in rows, the same wherever they are listed. */
import {
  CircleCheck,
  CircleDashed,
  Hourglass,
  type LucideIcon,
  OctagonAlert,
  PauseCircle,
  TriangleAlert,
  UserX,
} from "lucide-preact";
import type { GroupLag, Stats } from "../../data/shapes.js";
import { rings } from "../../data/stats.js";
import { isFarBehind, lagRing, worksInRounds } from "../../data/stats-past.js";
import { Badge, type Tone } from "../../ui/badge.js";
import { count, duration, milliseconds, rate, shortDuration, si } from "../../ui/format.js";
import { Link } from "../../ui/link.js";
import { to } from "../../ui/router.js";
import { Sparkline } from "../../ui/sparkline.js";
import type { Column } from "../../ui/table.js";

export interface GroupRow extends GroupLag {
  readonly perSecond: number | undefined;
  readonly p99: number | null | undefined;
  readonly failing: number;
}

export function groupRows(groups: readonly GroupLag[], stats: Stats | undefined): GroupRow[] {
  const known = new Map(stats?.groups.map((one) => [`${one.topic}\n${one.group}`, one]));
  return groups.map((group) => {
    const own = known.get(`${group.topic}\n${group.group}`);
    return {
      ...group,
      perSecond: own?.deliveredPerSecond,
      p99: own?.handlerP99Ms,
      failing: own?.nackedPerSecond ?? 0,
    };
  });
}

export const STATES = [
  "behind",
  "paused",
  "nobody subscribed",
  "damaged",
  "working",
  "between rounds",
  "resting",
  "up to date",
] as const;

type State = (typeof STATES)[number];

/** How a group does, in a word. */
export function stateOf(group: GroupLag): State {
  if (group.paused !== undefined) return "paused";
  if (damageOf(group) !== undefined) return "damaged";
  if (group.lag === 0) return "up to date";
  if (group.resting) return "resting";
  if (worksInRounds(group)) return "between rounds";
  if (group.members.length === 0) return "nobody subscribed";
  return isFarBehind(group) ? "behind" : "working";
}

function damageOf({ partitions }: GroupLag): string | undefined {
  return partitions.find((one) => one.damage !== undefined)?.damage;
}

const LOOKS: Readonly<
  Record<State, { readonly tone: Tone; readonly icon: LucideIcon; readonly title?: string }>
> = {
  paused: { tone: "warn", icon: PauseCircle },
  damaged: { tone: "bad", icon: OctagonAlert },
  "up to date": { tone: "good", icon: CircleCheck },
  resting: {
    tone: "neutral",
    icon: Hourglass,
    title: "It fed the build that a rebuild replaced, and is kept for the way back",
  },
  "between rounds": {
    tone: "neutral",
    icon: Hourglass,
    title: "It works in rounds, and is behind between two of them",
  },
  "nobody subscribed": { tone: "warn", icon: UserX, title: "It goes on as soon as a subscriber is there" },
  behind: { tone: "warn", icon: TriangleAlert },
  working: { tone: "info", icon: CircleDashed },
};

export function GroupState({ group }: { readonly group: GroupLag }) {
  const state = stateOf(group);
  const { tone, icon, title = group.paused && `by ${group.paused.by}` } = LOOKS[state];
  const words = damageOf(group) ?? title;
  return (
    <Badge tone={tone} icon={icon} {...(words !== undefined && { title: words })}>
      {state}
    </Badge>
  );
}

export const GROUP_COLUMNS: readonly Column<GroupRow>[] = [
  {
    id: "group",
    head: "Group",
    grow: "phone",
    sort: ({ group }) => group,
    cell: ({ group, topic }) => (
      <>
        <Link href={to("groups", group, { topic })} class="rounded-sm font-medium hover:underline">
          {group}
        </Link>
        {/* On phones the topic has no column of its own. */}
        <span class="block truncate text-2xs text-faint sm:hidden">{topic}</span>
      </>
    ),
  },
  {
    id: "topic",
    head: "Topic",
    grow: true,
    wide: "tablet",
    sort: ({ topic }) => topic,
    cell: ({ topic }) => <span class="text-soft">{topic}</span>,
  },
  { id: "state", head: "State", wide: "tablet", cell: (row) => <GroupState group={row} /> },
  {
    id: "rate",
    head: "Delivered",
    align: "right",
    wide: true,
    sort: ({ perSecond = 0 }) => perSecond,
    cell: ({ perSecond }) => (perSecond === undefined ? <span class="text-faint">–</span> : rate(perSecond)),
  },
  {
    id: "p99",
    head: "p99",
    align: "right",
    wide: true,
    sort: ({ p99 }) => p99 ?? 0,
    cell: ({ p99 }) =>
      p99 === undefined || p99 === null ? <span class="text-faint">–</span> : milliseconds(p99),
  },
  {
    id: "members",
    head: "Members",
    align: "right",
    wide: true,
    sort: ({ members }) => members.length,
    cell: ({ members }) => count(members.length),
  },
  {
    id: "lag",
    head: "Lag",
    align: "right",
    sort: ({ lag }) => lag,
    cell: ({ topic, group, lag }) => (
      <span class="inline-flex items-center justify-end gap-2.5 align-middle">
        <span class="shrink-0 max-[60rem]:hidden">
          <Sparkline values={rings.of(lagRing(topic, group))} color="lag" width={56} height={18} />
        </span>
        <span class="sm:w-14" title={count(lag)}>
          {si(lag)}
        </span>
      </span>
    ),
  },
  {
    id: "behind",
    head: "Behind",
    align: "right",
    sort: ({ lagSeconds }) => lagSeconds,
    cell: (row) => (
      <span class={isFarBehind(row) ? "text-warn" : "text-faint"}>
        {row.lag === 0 ? (
          "–"
        ) : (
          <>
            <span class="max-sm:hidden">{duration(row.lagSeconds)}</span>
            <span class="sm:hidden">{shortDuration(row.lagSeconds)}</span>
          </>
        )}
      </span>
    ),
  },
];
