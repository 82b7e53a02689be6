/** Groups in rows, the same wherever they are listed. */
import {
  CircleCheck,
  CircleDashed,
  Hourglass,
  OctagonAlert,
  PauseCircle,
  TriangleAlert,
  UserX,
} from "lucide-preact";
import { to } from "../../app/router.js";
import type { GroupLag, Stats } from "../../data/shapes.js";
import { rings } from "../../data/stats.js";
import { isFarBehind, lagRing, worksInRounds } from "../../data/stats-past.js";
import { Badge } from "../../ui/badge.js";
import { count, duration, milliseconds, rate, si } from "../../ui/format.js";
import { Link } from "../../ui/link.js";
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

/** How a group does, in a word. */
export function GroupState({ group }: { readonly group: GroupLag }) {
  if (group.paused !== undefined)
    return (
      <Badge tone="warn" icon={PauseCircle} title={`by ${group.paused.by}`}>
        paused
      </Badge>
    );
  const damage = group.partitions.find((one) => one.damage !== undefined)?.damage;
  if (damage !== undefined)
    return (
      <Badge tone="bad" icon={OctagonAlert} title={damage}>
        damaged
      </Badge>
    );
  if (group.lag === 0)
    return (
      <Badge tone="good" icon={CircleCheck}>
        up to date
      </Badge>
    );
  if (group.resting)
    return (
      <Badge icon={Hourglass} title="It fed the build that a rebuild replaced, and is kept for the way back">
        resting
      </Badge>
    );
  if (worksInRounds(group))
    return (
      <Badge icon={Hourglass} title="It works in rounds, and is behind between two of them">
        between rounds
      </Badge>
    );
  if (group.members.length === 0)
    return (
      <Badge tone="warn" icon={UserX} title="It goes on as soon as a subscriber is there">
        nobody subscribed
      </Badge>
    );
  if (isFarBehind(group))
    return (
      <Badge tone="warn" icon={TriangleAlert}>
        behind
      </Badge>
    );
  return (
    <Badge icon={group.lagSeconds > 5 ? Hourglass : CircleDashed} tone="info">
      working
    </Badge>
  );
}

export const GROUP_COLUMNS: readonly Column<GroupRow>[] = [
  {
    id: "group",
    head: "Group",
    sort: ({ group }) => group,
    cell: ({ group, topic }) => (
      <Link href={to("groups", group, { topic })} class="rounded-sm font-medium hover:underline">
        {group}
      </Link>
    ),
  },
  {
    id: "topic",
    head: "Topic",
    sort: ({ topic }) => topic,
    cell: ({ topic }) => <span class="text-soft">{topic}</span>,
  },
  { id: "state", head: "State", grow: true, wide: "tablet", cell: (row) => <GroupState group={row} /> },
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
        <span class="sm:w-12" title={count(lag)}>
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
        {row.lag === 0 ? "–" : duration(row.lagSeconds)}
      </span>
    ),
  },
];
