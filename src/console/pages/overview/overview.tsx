/** The first screen: is it well, and if not, what is wrong, in words. */

import { hubAheadMs } from "../../data/hub-clock.js";
import { useLive } from "../../data/live.js";
import { who } from "../../data/session.js";
import type { Overview } from "../../data/shapes.js";
import { moments, statsProblem, useStats } from "../../data/stats.js";
import { known, lagOf } from "../../data/stats-past.js";
import { Chart, SECONDS_STEPS, WHOLE_STEPS } from "../../ui/chart.js";
import { bytes, count, duration, milliseconds, plural, rate, si } from "../../ui/format.js";
import { Facts, Figure, PageHead, Section } from "../../ui/page.js";
import { to } from "../../ui/router.js";
import { Sparkline } from "../../ui/sparkline.js";
import { Failure, Waiting } from "../../ui/states.js";
import { Attention } from "./attention.js";
import { Flow } from "./flow.js";
import { LaggingGroups } from "./lagging-groups.js";
import { useNotices } from "./notices.js";

export function OverviewPage() {
  const stats = useStats();
  const notices = useNotices();
  const overview = useLive<Overview>("/overview", 4_000);
  const problem = statsProblem.value;
  if (problem !== undefined && !problem.isOffline) {
    return (
      <>
        <PageHead title="Overview" />
        <Section>
          <Failure problem={problem} />
        </Section>
      </>
    );
  }
  return (
    <>
      <PageHead title="Overview">
        <p class="min-h-5 max-sm:min-h-10">
          {overview.data !== undefined && <Summary overview={overview.data} />}
        </p>
      </PageHead>
      {stats === undefined || notices === undefined ? (
        <Waiting rows={12} problem={problem ?? overview.problem} />
      ) : (
        <div class="flex flex-col gap-4">
          <Attention notices={notices} />
          <Figures />
          <div class="grid gap-4 lg:grid-cols-3">
            <Section title="Throughput" note="events a second, all topics" class="lg:col-span-2">
              <Throughput />
            </Section>
            <Section title="Behind most">
              <LaggingGroups groups={stats.groups} />
            </Section>
          </div>
          <div class="grid gap-4 md:grid-cols-3">
            <SmallChart
              title="Lag"
              name="oldest unsettled"
              color="lag"
              of="lagSeconds"
              format={duration}
              steps={SECONDS_STEPS}
            />
            <SmallChart
              title="Handlers"
              name="p99"
              color="handling"
              of="handlerP99Ms"
              format={milliseconds}
            />
            <SmallChart
              title="Dead letters"
              name="open"
              color="dead"
              of="dead"
              format={si}
              steps={WHOLE_STEPS}
            />
          </div>
          <Section title="Flow" note="topics, groups and views; width by rate">
            <Flow stats={stats} />
          </Section>
          {overview.data !== undefined && <Machinery overview={overview.data} />}
        </div>
      )}
    </>
  );
}

function Summary({ overview }: { readonly overview: Overview }) {
  const { events, bytes: size, topics, groups, uptimeSeconds } = overview;
  return (
    <>
      {plural(events, "event")} in {plural(topics, "topic")} ({bytes(size)}), read by{" "}
      {plural(groups, "group")}. Up for {duration(uptimeSeconds)}.
    </>
  );
}

function Figures() {
  const stats = useStats();
  if (stats === undefined) return null;
  const past = moments.value.slice(-60);
  const { totals, deadLetters } = stats;
  const { lag, lagSeconds } = lagOf(stats.groups);
  const topics = Object.keys(deadLetters.topics).length;
  return (
    <div class="grid grid-cols-2 gap-4 md:grid-cols-3 xl:grid-cols-6">
      <Figure name="Published" value={rate(totals.published)} detail="once durable">
        <Sparkline values={past.map((m) => m.published)} color="published" width={72} />
      </Figure>
      <Figure name="Delivered" value={rate(totals.delivered)} detail="to handlers">
        <Sparkline values={past.map((m) => m.delivered)} color="delivered" width={72} />
      </Figure>
      <Figure
        name="Acked"
        value={rate(totals.acked)}
        detail={totals.nacked > 0 ? `${rate(totals.nacked)} failed` : "none failed lately"}
      >
        <Sparkline values={past.map((m) => m.acked)} color="acked" width={72} />
      </Figure>
      <Figure
        name="Lag"
        value={si(lag)}
        detail={lag === 0 ? "up to date" : `${duration(lagSeconds)} behind at most`}
        tone={lagSeconds > 60 ? "warn" : undefined}
        href={to("groups", { "groups.sort": "-lag" })}
      >
        <Sparkline values={known(past, "lag")} color="lag" width={72} />
      </Figure>
      <Figure
        name="Handler p99"
        value={totals.handlerP99Ms === null ? "–" : milliseconds(totals.handlerP99Ms)}
        detail="to settlement"
      >
        <Sparkline values={known(past, "handlerP99Ms")} color="handling" width={72} />
      </Figure>
      <Figure
        name="Dead letters"
        value={si(deadLetters.open)}
        detail={
          deadLetters.open === 0 ? "none open" : `open in ${count(topics)} topic${topics === 1 ? "" : "s"}`
        }
        tone={deadLetters.open > 0 ? "bad" : undefined}
        href={to("dead-letters")}
      >
        <Sparkline values={known(past, "dead")} color="dead" width={72} />
      </Figure>
    </div>
  );
}

function Throughput() {
  const past = moments.value;
  return (
    <Chart
      label="Events a second: published, delivered and acked"
      height={236}
      times={past.map(({ atMs }) => atMs)}
      format={rate}
      series={[
        { name: "published", color: "published", values: past.map((m) => m.published) },
        { name: "delivered", color: "delivered", values: past.map((m) => m.delivered) },
        { name: "acked", color: "acked", values: past.map((m) => m.acked) },
      ]}
    />
  );
}

function SmallChart(props: {
  readonly title: string;
  readonly name: string;
  readonly color: string;
  readonly of: "lagSeconds" | "handlerP99Ms" | "dead";
  readonly format: (value: number) => string;
  readonly steps?: readonly number[];
}) {
  const past = moments.value;
  return (
    <Section title={props.title}>
      <Chart
        label={`${props.title}: ${props.name}`}
        height={132}
        times={past.map(({ atMs }) => atMs)}
        format={props.format}
        {...(props.steps && { steps: props.steps })}
        series={[{ name: props.name, color: props.color, values: past.map((m) => m[props.of]) }]}
      />
    </Section>
  );
}

/** The store and what runs beside the hub. */
function Machinery({ overview }: { readonly overview: Overview }) {
  const states = new Map<string, number>();
  for (const { state } of overview.tasks) states.set(state, (states.get(state) ?? 0) + 1);
  const tasks = [...states].map(([state, n]) => `${count(n)} ${state}`).join(", ");
  return (
    <Section title="Store and feeds">
      <div class="grid gap-x-10 gap-y-2 p-4 md:grid-cols-2">
        <Facts
          facts={[
            ["Store", <span class="mono break-all">{overview.store}</span>],
            ["Stored", `${plural(overview.events, "event")}, ${bytes(overview.bytes)}`],
          ]}
        />
        <Facts
          facts={[
            ["Long-running parts", tasks === "" ? "none on this hub" : tasks],
            [
              "Connections",
              `${count(overview.connections)} over WebSocket, you as ${who.value?.subject ?? "–"}`,
            ],
            ...(hubAheadMs.value === 0 ? [] : [["Clocks", clockWords(hubAheadMs.value)] as const]),
          ]}
        />
      </div>
    </Section>
  );
}

function clockWords(aheadMs: number): string {
  const side = aheadMs > 0 ? "behind" : "ahead of";
  return `this browser's is ${duration(Math.abs(aheadMs) / 1_000)} ${side} the hub's; ages are told by the hub's`;
}
