/** All topics: how fast, how large, who reads them and how far behind these are. */
import { Archive, Clock, FileCheck2, KeyRound } from "lucide-preact";
import { useMemo } from "preact/hooks";
import { useLive } from "../../data/live.js";
import type { GroupStats, Items, SchemaEntry, Stats, TopicRow } from "../../data/shapes.js";
import { rings, statsProblem, useStats } from "../../data/stats.js";
import { isFarBehind, mayBeBehind, topicRing } from "../../data/stats-past.js";
import { Badge } from "../../ui/badge.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, passes } from "../../ui/fields.js";
import { bytes, count, duration, plural, rate, shortDuration, si } from "../../ui/format.js";
import { Link } from "../../ui/link.js";
import { PageHead, Section } from "../../ui/page.js";
import { go, query, setQuery, to } from "../../ui/router.js";
import { Sparkline } from "../../ui/sparkline.js";
import { Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { NoneYet } from "../none-yet.js";

interface Row extends TopicRow {
  readonly perSecond: number | undefined;
  readonly groups: readonly GroupStats[];
  readonly lag: number;
  readonly schema: SchemaEntry | undefined;
}

export function TopicList() {
  const topics = useLive<Items<TopicRow>>("/topics", 3_000);
  const schemas = useLive<Items<SchemaEntry>>("/schemas", 30_000).data?.items;
  const stats = useStats();
  // Without the right to the figures, lag still comes from the list of groups.
  const listed = useLive<Items<GroupStats>>(
    statsProblem.value?.isOffline === false ? "/groups" : null,
    3_000,
  );
  const groups = stats?.groups ?? listed.data?.items;
  const items = topics.data?.items;
  const rows = useMemo(
    () => rowsOf({ topics: items ?? [], groups: groups ?? [], schemas: schemas ?? [], stats }),
    [items, groups, schemas, stats],
  );
  const filter = query("q") ?? "";
  const derived = query("derived") === "1";
  return (
    <>
      <PageHead title="Topics" actions={<CopyCommand command="promethean topics" />} />
      <Section>
        <Loaded live={topics} rows={12}>
          {() => {
            const shown = rows.filter(({ name }) => (derived || !isDerived(name)) && passes(filter, name));
            return (
              <>
                <div class="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
                  <FilterBox placeholder="Filter topics" />
                  <label class="tick">
                    <input
                      type="checkbox"
                      class="accent-ember-solid"
                      checked={derived}
                      onChange={(event) => setQuery({ derived: event.currentTarget.checked ? 1 : null })}
                    />
                    Dead-letter and snapshot topics
                  </label>
                  <span class="ml-auto text-xs text-faint">
                    {count(shown.length)} of {count(rows.length)}
                  </span>
                </div>
                <Table
                  name="topics"
                  columns={COLUMNS}
                  rows={shown}
                  rowKey={({ name }) => name}
                  onOpen={({ name }) => go(to("topics", name))}
                  sorted="name"
                  empty={<NoTopics filtered={rows.length > 0} />}
                />
              </>
            );
          }}
        </Loaded>
      </Section>
    </>
  );
}

function rowsOf(o: {
  readonly topics: readonly TopicRow[];
  readonly groups: readonly GroupStats[];
  readonly schemas: readonly SchemaEntry[];
  readonly stats: Stats | undefined;
}): Row[] {
  const groups = new Map<string, GroupStats[]>();
  for (const group of o.groups) {
    const own = groups.get(group.topic);
    if (own === undefined) groups.set(group.topic, [group]);
    else own.push(group);
  }
  const rates = new Map(o.stats?.topics.map(({ topic, publishedPerSecond }) => [topic, publishedPerSecond]));
  // The last entry of a topic is its newest version.
  const schemas = new Map(o.schemas.map((entry) => [entry.topic, entry]));
  return o.topics.map((topic) => {
    const own = groups.get(topic.name) ?? [];
    return {
      ...topic,
      groups: own,
      lag: own.reduce((sum, one) => sum + (mayBeBehind(one) ? 0 : one.lag), 0),
      perSecond: o.stats && (rates.get(topic.name) ?? 0),
      schema: schemas.get(topic.name),
    };
  });
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "name",
    head: "Topic",
    grow: "phone",
    sort: ({ name }) => name,
    cell: ({ name }) => (
      <Link href={to("topics", name)} class="rounded-sm font-medium hover:underline">
        {name}
      </Link>
    ),
  },
  {
    id: "kind",
    head: <span class="sr-only">Kind</span>,
    grow: true,
    wide: true,
    cell: (row) => <TopicBadges topic={row} schema={row.schema} />,
  },
  {
    id: "rate",
    head: "Published",
    align: "right",
    sort: ({ perSecond = 0 }) => perSecond,
    cell: ({ name, perSecond }) => (
      <span class="inline-flex items-center justify-end gap-2.5 align-middle">
        <span class="max-sm:hidden">
          <Sparkline values={rings.of(topicRing(name))} color="published" width={56} height={18} />
        </span>
        <span class="sm:w-14">{perSecond === undefined ? "–" : rate(perSecond)}</span>
      </span>
    ),
  },
  {
    id: "events",
    head: "Events",
    align: "right",
    wide: true,
    sort: ({ events }) => events,
    cell: ({ events }) => si(events),
  },
  {
    id: "bytes",
    head: "Size",
    align: "right",
    wide: true,
    sort: (row) => row.bytes,
    cell: (row) => bytes(row.bytes),
  },
  {
    id: "partitions",
    head: "Partitions",
    align: "right",
    wide: true,
    sort: ({ partitions }) => partitions,
    cell: ({ partitions }) => partitions,
  },
  {
    id: "lag",
    head: (
      <>
        <span class="max-sm:hidden">Groups and lag</span>
        <span class="sm:hidden">Lag</span>
      </>
    ),
    align: "right",
    sort: ({ lag }) => lag,
    cell: ({ groups, lag }) => <GroupsInRow groups={groups} lag={lag} />,
  },
];

function GroupsInRow({ groups, lag }: { readonly groups: readonly GroupStats[]; readonly lag: number }) {
  if (groups.length === 0) return <span class="text-faint">no groups</span>;
  const worst = groups.filter((one) => !mayBeBehind(one)).sort((a, b) => b.lagSeconds - a.lagSeconds)[0];
  const late = worst !== undefined && isFarBehind(worst);
  return (
    <span title={groups.map((group) => `${group.group}: ${count(group.lag)}`).join("\n")}>
      <span class="text-faint max-sm:hidden">{plural(groups.length, "group")} · </span>
      {lag === 0 ? (
        "up to date"
      ) : (
        <span class={late ? "text-warn" : ""}>
          {si(lag)}
          <span class="max-sm:hidden"> behind</span> ·{" "}
          <span class="max-sm:hidden">{duration(worst?.lagSeconds ?? 0)}</span>
          <span class="sm:hidden">{shortDuration(worst?.lagSeconds ?? 0)}</span>
        </span>
      )}
    </span>
  );
}

export function TopicBadges(props: {
  readonly topic: Pick<TopicRow, "retentionMs" | "retentionBytes" | "compaction" | "keyed">;
  readonly schema: { readonly version: number; readonly compat: string } | undefined;
}) {
  const { topic, schema } = props;
  return (
    <span class="inline-flex flex-wrap gap-1.5 align-middle">
      {schema !== undefined && (
        <Badge icon={FileCheck2} title={`Schema version ${schema.version}, compatibility ${schema.compat}`}>
          schema v{schema.version}
        </Badge>
      )}
      {topic.compaction && (
        <Badge icon={KeyRound} title="The newest event of each key is kept">
          compacted
        </Badge>
      )}
      {topic.retentionMs !== undefined && (
        <Badge icon={Clock} title="Older events are removed">
          {duration(topic.retentionMs / 1_000)}
        </Badge>
      )}
      {topic.retentionBytes !== undefined && (
        <Badge icon={Archive} title="What goes beyond is removed, the oldest first">
          {bytes(topic.retentionBytes)}
        </Badge>
      )}
    </span>
  );
}

function isDerived(name: string): boolean {
  return name.startsWith("dlq.") || name.endsWith(".snapshot");
}

function NoTopics({ filtered }: { readonly filtered: boolean }) {
  return (
    <NoneYet
      things="topics"
      filtered={filtered && "No topic fits the filter"}
      title="No topics yet"
      command={`promethean publish orders.placed '{"order":7}' --key customer-42`}
    >
      A topic comes into being with its first event.
    </NoneYet>
  );
}
