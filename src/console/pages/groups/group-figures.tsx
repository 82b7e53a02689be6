/** The figures of a group on a topic. */
import { useRef } from "preact/hooks";
import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { GroupLag } from "../../data/shapes.js";
import { rings, useStats } from "../../data/stats.js";
import { deliveredRing, isFarBehind, lagRing, mayBeBehind } from "../../data/stats-past.js";
import { count, duration, milliseconds, plural, rate, si, unbroken } from "../../ui/format.js";
import { Figure } from "../../ui/page.js";
import { Sparkline } from "../../ui/sparkline.js";

export function GroupFigures({ group: shown }: { readonly group: GroupLag }) {
  const { topic, group, lag, lagSeconds, members, partitions } = shown;
  const late = isFarBehind(shown) ? "warn" : undefined;
  const path = `/lag?topic=${seg(topic)}&group=${seg(group)}`;
  const drain = useDrain(path);
  const own = useStats()?.groups.find((one) => one.topic === topic && one.group === group);
  const inFlight = partitions.reduce((sum, one) => sum + one.inFlight, 0);
  return (
    <div class="grid grid-cols-2 gap-4 md:grid-cols-4">
      <Figure name="Lag" value={si(lag)} detail={lag === 0 ? "up to date" : drain} tone={late}>
        <Sparkline values={rings.of(lagRing(topic, group))} color="lag" width={80} />
      </Figure>
      <Figure
        name="Behind"
        value={lag === 0 ? "0 s" : duration(lagSeconds)}
        detail="age of the oldest unsettled event"
        tone={late}
      />
      <Figure
        name="Delivered"
        value={own?.deliveredPerSecond === undefined ? "–" : rate(own.deliveredPerSecond)}
        detail={
          own?.handlerP99Ms === undefined || own.handlerP99Ms === null
            ? "no deliveries on this hub lately"
            : `p50 ${unbroken(milliseconds(own.handlerP50Ms ?? 0))}, ${unbroken(`p99 ${milliseconds(own.handlerP99Ms)}`)}`
        }
      >
        <Sparkline values={rings.of(deliveredRing(topic, group))} color="delivered" width={80} />
      </Figure>
      <Figure
        name="Members"
        value={count(members.length)}
        detail={members.length === 0 ? "nobody is subscribed" : `${plural(inFlight, "event")} in flight`}
        tone={members.length === 0 && !mayBeBehind(shown) ? "warn" : undefined}
      />
    </div>
  );
}

/** How long it takes to catch up. The hub tells from how lag went between two looks: after the first one nothing is known. */
function useDrain(path: string): string {
  const { data, atMs } = useLive<{ drainSeconds: number | null }>(path, 5_000);
  const first = useRef({ path, atMs });
  if (first.current.path !== path || first.current.atMs === 0) first.current = { path, atMs };
  if (typeof data?.drainSeconds === "number") return `drains in ~${duration(data.drainSeconds)}`;
  return atMs > first.current.atMs ? "not draining now" : "";
}
