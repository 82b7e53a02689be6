/** Partitions as bars from the lowest kept event to the newest, with a tick where each group stands. */
import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { GroupLag, Items, PartitionHead, TopicDetail } from "../../data/shapes.js";
import { bytes, count, plural } from "../../ui/format.js";
import { ownerColor } from "../groups/owner-colors.js";

export function PartitionsPicture({ detail }: { readonly detail: TopicDetail }) {
  const all = useLive<Items<GroupLag>>(`/groups?topic=${seg(detail.name)}`, 2_000).data?.items ?? [];
  const groups = furthestBehind(all);
  const top = Math.max(1, ...detail.partitions.map(({ head }) => head));
  return (
    <div class="p-4">
      <div class="mb-3 flex flex-wrap gap-x-4 gap-y-1 text-xs">
        {groups.map(({ group }, i) => (
          <span key={group} class="flex max-w-full items-center gap-1.5">
            <span aria-hidden="true" class="h-3 w-0.5 rounded" style={{ background: ownerColor(i) }} />
            <span class="truncate" title={group}>
              {group}
            </span>
          </span>
        ))}
        {groups.length < all.length && (
          <span class="text-faint">
            the {count(groups.length)} furthest behind of {plural(all.length, "group")}
          </span>
        )}
      </div>
      <ul class="flex flex-col gap-2.5">
        {detail.partitions.map((partition) => (
          <PartitionBar key={partition.partition} partition={partition} top={top} groups={groups} />
        ))}
      </ul>
    </div>
  );
}

/** More than these could not be told apart. By name, so that they keep their colours. */
const MOST_GROUPS = 8;

function furthestBehind(groups: readonly GroupLag[]): readonly GroupLag[] {
  if (groups.length <= MOST_GROUPS) return groups;
  const worst = [...groups].sort((a, b) => b.lag - a.lag).slice(0, MOST_GROUPS);
  return groups.filter((group) => worst.includes(group));
}

function PartitionBar(props: {
  readonly partition: PartitionHead;
  readonly top: number;
  readonly groups: readonly GroupLag[];
}) {
  const { partition, top, groups } = props;
  const { head, low, events, bytes: size } = partition;
  const percent = (seq: number): string => `${Math.min(100, (Math.max(0, seq) / top) * 100)}%`;
  const floors = groups.flatMap(({ group, partitions }, i) => {
    const own = partitions.find((one) => one.partition === partition.partition);
    return own === undefined ? [] : [{ group, floor: own.floor, lag: own.lag, color: ownerColor(i) }];
  });
  return (
    <li class="grid grid-cols-[5.5rem_1fr] items-center gap-x-3 gap-y-0.5 text-sm md:grid-cols-[5.5rem_1fr_15rem]">
      <span class="text-soft">Partition {partition.partition}</span>
      <span
        aria-hidden="true"
        class="relative block h-6 rounded bg-sunken"
        title={`low ${count(low)}, head ${count(head)}`}
      >
        <span
          class="absolute inset-y-0 rounded bg-ember/20"
          style={{ left: percent(low - 1), width: `calc(${percent(head)} - ${percent(low - 1)})` }}
        />
        <span class="absolute inset-y-0 w-0.5 bg-ember" style={{ left: `calc(${percent(head)} - 2px)` }} />
        {floors.map(({ group, floor, lag, color }) => (
          <span
            key={group}
            class="absolute -inset-y-0.5 w-0.5 rounded"
            title={`${group}: at ${count(floor)}, ${count(lag)} to go`}
            style={{ left: `calc(${percent(floor)} - 1px)`, background: color }}
          />
        ))}
      </span>
      <span class="text-xs text-faint max-md:col-start-2">
        {events === 0
          ? "empty"
          : `${count(low)}–${count(head)} · ${plural(events, "event")} · ${bytes(size)}`}
        {/* What the ticks say. */}
        <span class="sr-only">
          {floors.map(({ group, floor, lag }) => `, ${group} at ${count(floor)}, ${count(lag)} to go`)}
        </span>
      </span>
    </li>
  );
}
