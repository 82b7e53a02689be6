/** Coverage: every topic, with its schema or without. */
import { FileCheck2, FileX2 } from "lucide-preact";
import { useLive } from "../../data/live.js";
import type { Items, SchemaEntry, TopicRow } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, passes, SelectField } from "../../ui/fields.js";
import { count, si } from "../../ui/format.js";
import { Link } from "../../ui/link.js";
import { Ago } from "../../ui/now.js";
import { Figure, PageHead, Section } from "../../ui/page.js";
import { go, query, setQuery, to } from "../../ui/router.js";
import { Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { NoneYet } from "../none-yet.js";

interface Row {
  readonly topic: string;
  readonly events: number;
  readonly versions: readonly SchemaEntry[];
}

export function SchemaList() {
  const live = useLive<Items<SchemaEntry>>("/schemas", 10_000);
  const topics = useLive<Items<TopicRow>>("/topics", 10_000);
  return (
    <>
      <PageHead title="Schemas" actions={<CopyCommand command="promethean schema status" />}>
        What payloads look like, version by version, and whether old and new go together.
      </PageHead>
      {/* Without the topics every one would seem to have a schema. */}
      <Loaded live={live}>
        {({ items }) => (
          <Loaded live={topics}>{({ items: all }) => <Coverage rows={rowsOf(items, all)} />}</Loaded>
        )}
      </Loaded>
    </>
  );
}

function rowsOf(entries: readonly SchemaEntry[], topics: readonly TopicRow[]): Row[] {
  const own = topics.filter(({ name }) => !name.startsWith("dlq.") && !name.endsWith(".snapshot"));
  const names = [...new Set([...own.map(({ name }) => name), ...entries.map(({ topic }) => topic)])].sort();
  const events = new Map(topics.map((topic) => [topic.name, topic.events]));
  const versions = new Map<string, SchemaEntry[]>();
  for (const entry of entries) versions.set(entry.topic, [...(versions.get(entry.topic) ?? []), entry]);
  return names.map((topic) => ({
    topic,
    events: events.get(topic) ?? 0,
    versions: versions.get(topic) ?? [],
  }));
}

function Coverage({ rows }: { readonly rows: readonly Row[] }) {
  const filter = query("q") ?? "";
  const only = query("show") ?? "all";
  const covered = rows.filter(({ versions }) => versions.length > 0);
  const evolved = covered.filter(({ versions }) => versions.length > 1);
  const shown = rows
    .filter(({ topic }) => passes(filter, topic))
    .filter(({ versions }) => only === "all" || (only === "with") === versions.length > 0);
  return (
    <>
      <div class="mb-4 grid grid-cols-3 gap-4 max-xs:grid-cols-2">
        <Figure
          name="Coverage"
          value={rows.length === 0 ? "–" : `${Math.round((covered.length / rows.length) * 100)} %`}
          detail={`${count(covered.length)} of ${count(rows.length)} topics`}
        />
        <Figure
          name="Versions"
          value={count(covered.reduce((sum, { versions }) => sum + versions.length, 0))}
          detail="registered"
        />
        <Figure name="Evolved" value={count(evolved.length)} detail="have several versions" />
      </div>
      <Section>
        <div class="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
          <FilterBox placeholder="Filter topics" />
          <SelectField
            bare
            label="Show"
            value={only}
            choices={[
              { value: "all", label: "All topics" },
              { value: "with", label: "With a schema" },
              { value: "without", label: "Without one" },
            ]}
            onChange={(show) => setQuery({ show: show === "all" ? null : show })}
          />
          <span class="ml-auto text-xs text-faint">
            {count(shown.length)} of {count(rows.length)}
          </span>
        </div>
        <Table
          name="schemas"
          columns={COLUMNS}
          rows={shown}
          rowKey={({ topic }) => topic}
          onOpen={({ topic }) => go(to("schemas", topic))}
          empty={
            <NoneYet
              things="topics"
              filtered={rows.length > 0 && "No topic fits"}
              title="No topics yet"
              command="promethean schema register orders.placed order-v1.json"
            >
              A schema checks every payload that is published.
            </NoneYet>
          }
        />
      </Section>
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "topic",
    head: "Topic",
    grow: true,
    sort: ({ topic }) => topic,
    cell: ({ topic }) => (
      <Link href={to("schemas", topic)} class="rounded-sm font-medium hover:underline">
        {topic}
      </Link>
    ),
  },
  {
    id: "schema",
    head: "Schema",
    sort: ({ versions }) => versions.length,
    cell: ({ versions }) =>
      versions.length === 0 ? (
        <Badge tone="warn" icon={FileX2}>
          none
        </Badge>
      ) : (
        <Badge tone="good" icon={FileCheck2}>
          v{versions.at(-1)?.version}
        </Badge>
      ),
  },
  {
    id: "versions",
    head: "Versions",
    align: "right",
    wide: "tablet",
    cell: ({ versions }) => count(versions.length),
  },
  { id: "compat", head: "Compatibility", wide: true, cell: ({ versions }) => versions.at(-1)?.compat ?? "–" },
  {
    id: "since",
    head: "Newest since",
    align: "right",
    wide: true,
    cell: ({ versions }) => {
      const newest = versions.at(-1);
      return newest === undefined ? "–" : <Ago ts={newest.createdMs} />;
    },
  },
  {
    id: "events",
    head: "Events",
    align: "right",
    sort: ({ events }) => events,
    cell: ({ events }) => si(events),
  },
];
