/** Who owns what, as a picture: a cell for each partition, coloured by owner, filled by lag, ringed if a key is blocked. */

import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { GroupLag, PartitionLag, Why } from "../../data/shapes.js";
import { Badge, Dot } from "../../ui/badge.js";
import { count, duration, shortDuration, si } from "../../ui/format.js";
import { ownerColor } from "./owner-colors.js";

/** Beyond this the cells are smaller, and scroll. */
const MANY = 32;

export function PartitionMap({ group }: { readonly group: GroupLag }) {
  const path = `/groups/${seg(group.group)}/why?topic=${seg(group.topic)}`;
  const blocked = useLive<Why>(path, 2_000).data?.items[0]?.blocked ?? [];
  const owners = [
    ...new Set(group.partitions.flatMap(({ owner }) => (owner === null ? [] : [owner]))),
  ].sort();
  const top = Math.max(1, ...group.partitions.map(({ lag }) => lag));
  return (
    <div class="p-4">
      <ul
        class={`grid gap-2 ${group.partitions.length > MANY ? "max-h-96 grid-cols-[repeat(auto-fill,minmax(5rem,1fr))] overflow-y-auto p-1 -m-1" : "grid-cols-[repeat(auto-fill,minmax(6.5rem,1fr))]"}`}
        {...(group.partitions.length > MANY && { tabIndex: 0 })}
        aria-label="Partitions"
      >
        {group.partitions.map((partition) => (
          <Cell
            key={partition.partition}
            partition={partition}
            small={group.partitions.length > MANY}
            color={partition.owner === null ? null : ownerColor(owners.indexOf(partition.owner))}
            fill={partition.lag / top}
            blocked={blocked.filter((one) => one.partition === partition.partition).length}
          />
        ))}
      </ul>
      <ul class="mt-4 flex flex-col gap-1 text-xs">
        {owners.map((owner, i) => (
          <li key={owner} class="flex items-center gap-2">
            <span aria-hidden="true" class="size-2.5 rounded-sm" style={{ background: ownerColor(i) }} />
            <span class="mono truncate text-xs" title={owner}>
              {owner}
            </span>
            <span class="text-faint">
              owns {count(group.partitions.filter((one) => one.owner === owner).length)} of{" "}
              {count(group.partitions.length)}
            </span>
          </li>
        ))}
        {group.partitions.some(({ owner }) => owner === null) && (
          <li class="flex items-center gap-2">
            <span aria-hidden="true" class="size-2.5 rounded-sm border border-dashed border-faint" />
            nobody owns these
          </li>
        )}
      </ul>
    </div>
  );
}

function Cell(props: {
  readonly partition: PartitionLag;
  readonly small: boolean;
  readonly color: string | null;
  readonly fill: number;
  readonly blocked: number;
}) {
  const { partition, small, color, fill, blocked } = props;
  const { lag, lagSeconds, floor, head, owner, epoch, damage } = partition;
  const title = [
    `partition ${partition.partition}: ${count(floor)} of ${count(head)}`,
    owner === null ? "no owner" : `owner ${owner}, epoch ${epoch}`,
    lag > 0 ? `${count(lag)} to go, ${duration(lagSeconds)} behind` : "",
    blocked > 0 ? `${count(blocked)} blocked` : "",
    damage ?? "",
  ];
  return (
    <li
      title={title.filter((part) => part !== "").join("\n")}
      class={`relative ${small ? "h-12" : "h-16"} overflow-hidden rounded-md border bg-sunken ${owner === null ? "border-dashed border-faint" : "border-line-strong"} ${damage !== undefined ? "ring-2 ring-bad ring-offset-1 ring-offset-surface" : blocked > 0 ? "ring-2 ring-warn ring-offset-1 ring-offset-surface" : ""}`}
    >
      <span
        aria-hidden="true"
        class="absolute inset-x-0 bottom-0 opacity-20 transition-[height] duration-150"
        style={{ height: `${Math.round(fill * 100)}%`, background: color ?? "var(--color-faint)" }}
      />
      <span
        aria-hidden="true"
        class="absolute inset-x-0 top-0 h-1"
        style={{ background: color ?? "transparent" }}
      />
      <span class="relative flex h-full flex-col justify-between px-2 pt-2 pb-1.5">
        <span class="flex justify-between text-xs">
          <span>p{partition.partition}</span>
          {damage !== undefined ? (
            <Badge tone="bad">damaged</Badge>
          ) : (
            blocked > 0 && (small ? <Dot tone="warn" /> : <Badge tone="warn">blocked</Badge>)
          )}
        </span>
        <span class="flex items-baseline justify-between gap-1 whitespace-nowrap">
          <span class="font-semibold">{lag === 0 ? "0" : si(lag)}</span>
          <span class="text-2xs">{lag === 0 ? "" : shortDuration(lagSeconds)}</span>
        </span>
      </span>
    </li>
  );
}
