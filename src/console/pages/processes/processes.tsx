/** The worked example: the processes of the machines that send heartbeats, live. */
import { CircleCheck, CircleDashed } from "lucide-preact";
import { useEffect } from "preact/hooks";
import { useLive } from "../../data/live.js";
import { type Pages, usePages } from "../../data/pages.js";
import type { EventRecord, Items, ViewRecord } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, passes, SelectField } from "../../ui/fields.js";
import { bytes, count, sentenceCase } from "../../ui/format.js";
import { MoreButton } from "../../ui/more-button.js";
import { Ago } from "../../ui/now.js";
import { Figure, PageHead, Section } from "../../ui/page.js";
import { go, query, setQuery, toDocument } from "../../ui/router.js";
import { Sparkline } from "../../ui/sparkline.js";
import { Empty, Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { ProcessPast } from "./process-past.js";

interface Process extends ViewRecord {
  readonly host: string;
  readonly name: string;
  readonly pid: number;
  readonly cpu_pct: number;
  readonly mem_mb: number;
  readonly status: "alive" | "stale";
  readonly last_seen_ts: number;
}

const MIB = 1_048_576;
const past = new ProcessPast();

export function ProcessesPage() {
  const live = usePages<Process, Items<Process>>("/snap/processes?limit=1000", 2_000, {
    after: "after",
    idOf: ({ _key }) => _key,
  });
  const seeds = useLive<Items<EventRecord>>(
    "/topics/process.state/events?limit=500",
    Number.POSITIVE_INFINITY,
  );
  useEffect(() => {
    if (seeds.data !== undefined) past.seed(seeds.data.items);
  }, [seeds.data]);
  useEffect(() => {
    if (live.data !== undefined) past.take(live.items, live.atMs);
  }, [live.atMs]);
  const missing = live.problem?.status === 404;
  return (
    <>
      <PageHead
        title="Processes"
        actions={<CopyCommand command="promethean view ls processes --order -cpu_pct" />}
      >
        The worked example: heartbeats of this machine's processes become events, events become their state.
      </PageHead>
      {missing ? (
        <Section>
          <Empty title="The worked example does not run here" command="npx promethean up">
            It watches the processes of the machine that runs the hub and keeps their state in a view.
          </Empty>
        </Section>
      ) : (
        <Loaded live={live} rows={12}>
          {() => <Processes live={live} />}
        </Loaded>
      )}
    </>
  );
}

function Processes({ live }: { readonly live: Pages<Process, Items<Process>> }) {
  const { items } = live;
  const filter = query("q") ?? "";
  const status = query("status") ?? "all";
  const alive = items.filter((one) => one.status === "alive");
  const cpu = alive.reduce((sum, one) => sum + one.cpu_pct, 0);
  const memory = alive.reduce((sum, one) => sum + one.mem_mb, 0);
  const hosts = new Set(items.map(({ host }) => host)).size;
  const rows = items
    .filter((one) => status === "all" || one.status === status)
    .filter(({ name, host, pid }) => passes(filter, name, host, String(pid)));
  return (
    <>
      <div class="mb-4 grid grid-cols-2 gap-4 md:grid-cols-4">
        <Figure
          name="Alive"
          value={count(alive.length)}
          detail={`on ${count(hosts)} host${hosts === 1 ? "" : "s"}`}
        />
        <Figure
          name="Stale"
          value={count(items.length - alive.length)}
          detail="15 s without a heartbeat"
          tone={items.length > alive.length ? "warn" : undefined}
        />
        <Figure name="CPU" value={`${cpu.toFixed(0)} %`} detail="all together; 100 % is one core">
          <Sparkline values={past.total("cpu")} color="published" width={80} />
        </Figure>
        <Figure name="Memory" value={bytes(memory * MIB)} detail="all together">
          <Sparkline values={past.total("memory")} color="delivered" width={80} />
        </Figure>
      </div>
      <Section>
        <div class="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
          <FilterBox placeholder="Filter by name, host, pid" />
          <SelectField
            bare
            label="Status"
            value={status}
            choices={["all", "alive", "stale"].map((value) => ({ value, label: sentenceCase(value) }))}
            onChange={(value) => setQuery({ status: value === "all" ? null : value })}
          />
          <span class="ml-auto text-xs text-faint">
            {count(rows.length)} of {count(items.length)}
          </span>
        </div>
        <Table
          name="processes"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ _key }) => _key}
          onOpen={({ _key }) => go(toDocument("processes", _key))}
          sorted="-cpu"
          empty={<Empty title="No process fits" />}
        />
        {(live.hasMore || live.isLoading || live.stopped !== undefined) && (
          <div class="flex flex-wrap items-center gap-3 border-t border-line px-4 py-2 text-xs text-faint">
            There are more than these {count(items.length)}; figures and filter know of them once they are
            loaded.
            <MoreButton live={live} />
          </div>
        )}
      </Section>
    </>
  );
}

const COLUMNS: readonly Column<Process>[] = [
  {
    id: "name",
    head: "Process",
    grow: true,
    sort: ({ name }) => name,
    cell: ({ name }) => <span class="font-medium">{name}</span>,
  },
  {
    id: "pid",
    head: "Pid",
    align: "right",
    wide: "tablet",
    sort: ({ pid }) => pid,
    cell: ({ pid }) => <span class="mono">{pid}</span>,
  },
  {
    id: "host",
    head: "Host",
    wide: true,
    sort: ({ host }) => host,
    cell: ({ host }) => <span class="text-soft">{host}</span>,
  },
  {
    id: "cpu",
    head: "CPU",
    align: "right",
    // What is stale uses nothing any more, whatever it last said.
    sort: ({ cpu_pct, status }) => (status === "alive" ? cpu_pct + 1 : cpu_pct / 1e6),
    cell: ({ _key, cpu_pct }) => (
      <span class="inline-flex items-center gap-2.5 align-middle">
        <span class="max-sm:hidden">
          <Sparkline values={past.of(_key, "cpu")} color="published" width={72} height={20} />
        </span>
        <span class="w-14">{cpu_pct.toFixed(1)} %</span>
      </span>
    ),
  },
  {
    id: "memory",
    head: "Memory",
    align: "right",
    sort: ({ mem_mb }) => mem_mb,
    cell: ({ _key, mem_mb }) => (
      <span class="inline-flex items-center gap-2.5 align-middle">
        <span class="max-lg:hidden">
          <Sparkline values={past.of(_key, "memory")} color="delivered" width={72} height={20} />
        </span>
        <span class="w-18">{bytes(mem_mb * MIB)}</span>
      </span>
    ),
  },
  {
    id: "status",
    head: "Status",
    wide: true,
    sort: ({ status }) => status,
    cell: ({ status }) => (
      <Badge
        tone={status === "alive" ? "good" : "warn"}
        icon={status === "alive" ? CircleCheck : CircleDashed}
      >
        {status}
      </Badge>
    ),
  },
  {
    id: "seen",
    head: "Seen",
    align: "right",
    wide: true,
    sort: ({ last_seen_ts }) => last_seen_ts,
    cell: ({ last_seen_ts }) => <Ago ts={last_seen_ts} />,
  },
];
