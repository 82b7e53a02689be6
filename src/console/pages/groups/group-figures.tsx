/** The figures of a group on a topic. */
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
  const drain = useLive<{ drainSeconds: number | null }>(path, 5_000).data?.drainSeconds;
  const own = useStats()?.groups.find((one) => one.topic === topic && one.group === group);
  const inFlight = partitions.reduce((sum, one) => sum + one.inFlight, 0);
  return (
    <div class="grid grid-cols-2 gap-4 md:grid-cols-4">
      <Figure
        name="Lag"
        value={si(lag)}
        detail={drainText(lag, drain, own?.deliveredPerSecond ?? 0)}
        tone={late}
      >
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

function drainText(lag: number, drain: number | null | undefined, perSecond: number): string {
  if (lag === 0) return "up to date";
  if (typeof drain === "number") return `drains in ~${duration(drain)}`;
  return perSecond > 0 ? "being worked on" : "not draining now";
}
