/** The groups that are furthest behind, each with how its lag went. */

import type { GroupStats } from "../../data/shapes.js";
import { rings } from "../../data/stats.js";
import { lagRing, mayBeBehind } from "../../data/stats-past.js";
import { duration, shortDuration, si } from "../../ui/format.js";
import { Link } from "../../ui/link.js";
import { to } from "../../ui/router.js";
import { Sparkline } from "../../ui/sparkline.js";
import { Empty } from "../../ui/states.js";

const SHOWN = 5;

export function LaggingGroups({ groups }: { readonly groups: readonly GroupStats[] }) {
  const behind = groups
    .filter((one) => one.lag > 0 && !mayBeBehind(one))
    .sort((a, b) => b.lagSeconds - a.lagSeconds || b.lag - a.lag)
    .slice(0, SHOWN);
  if (groups.length === 0) {
    return (
      <Empty title="No groups yet" command="promethean subscribe orders.placed --group mailer">
        A group appears when somebody subscribes under its name.
      </Empty>
    );
  }
  if (behind.length === 0) return <Empty title="Every group is up to date" />;
  return (
    <ul class="flex flex-col py-1">
      {behind.map(({ topic, group, lag, lagSeconds, paused }) => (
        <li key={`${topic} ${group}`}>
          <Link
            href={to("groups", group, { topic })}
            class="flex h-11 items-center gap-3 px-4 text-sm hover:bg-sunken"
          >
            <span class="min-w-0 flex-1 leading-tight" title={`${group} on ${topic}`}>
              <span class="block truncate">{group}</span>
              <span class="block truncate text-xs text-faint">{topic}</span>
            </span>
            <Sparkline values={rings.of(lagRing(topic, group))} color="lag" width={56} height={20} />
            <span class="w-12 text-right font-medium">{si(lag)}</span>
            <span
              class={`w-14 text-right text-xs ${lagSeconds > 60 && !paused ? "text-warn" : "text-faint"}`}
            >
              {paused ? "paused" : <span title={duration(lagSeconds)}>{shortDuration(lagSeconds)}</span>}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
