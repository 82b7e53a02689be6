/** Looking into a topic: from either end, by time, seq, key, header or text, page by page. */
import { RefreshCw, SlidersHorizontal } from "lucide-preact";
import { useState } from "preact/hooks";
import { seg, withQuery } from "../../data/api.js";
import { refreshAll } from "../../data/live.js";
import { usePages } from "../../data/pages.js";
import type { EventRecord, Items, TopicDetail } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, SelectField } from "../../ui/fields.js";
import { count, plural, shellWord } from "../../ui/format.js";
import { TextLink } from "../../ui/link.js";
import { MoreButton } from "../../ui/more-button.js";
import { Section } from "../../ui/page.js";
import { openOver, query, setQuery, to } from "../../ui/router.js";
import { Empty, Loaded } from "../../ui/states.js";
import { Table } from "../../ui/table.js";
import { EVENT_COLUMNS } from "../events/event-columns.js";
import { pageSize } from "./page-size.js";

type Page = Items<EventRecord> & { readonly next: string | null; readonly scanned: number };

const LIMIT = 100;

export function Browse({ detail }: { readonly detail: TopicDetail }) {
  const topic = detail.name;
  const order = query("order") ?? usualOrder();
  // As it was at first: a page is not fetched anew because events became larger.
  const [limit] = useState(() => pageSize(detail, LIMIT));
  const path = browsePath(topic, order, limit);
  const live = usePages<EventRecord, Page>(path, Number.POSITIVE_INFINITY, {
    after: "after",
    idOf: ({ id }) => id,
  });
  return (
    <Section>
      <BrowseBar topic={topic} partitions={detail.config.partitions} order={order} />
      <Loaded live={live} rows={12}>
        {() => {
          const rows = live.items;
          const scanned = live.pages.reduce((sum, page) => sum + page.scanned, 0);
          return (
            <>
              <Table
                name="events"
                tall
                columns={EVENT_COLUMNS}
                rows={rows}
                rowKey={({ id }) => id}
                open={query("event")}
                onOpen={({ id }) => openOver("event", id)}
                empty={<NoEvents topic={topic} scanned={scanned} more={live.hasMore} />}
              />
              <div class="flex flex-wrap items-center gap-3 border-t border-line px-4 py-2 text-xs text-faint empty:hidden">
                {(rows.length > 0 || live.hasMore) &&
                  `${count(rows.length)} shown, ${count(scanned)} looked at`}
                {live.hasMore && <AllOfKey topic={topic} />}
                <MoreButton live={live}>{rows.length === 0 ? "Look further" : "Load more"}</MoreButton>
              </div>
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

function BrowseBar(props: { readonly topic: string; readonly partitions: number; readonly order: string }) {
  const { topic, partitions, order } = props;
  const [isOpen, setOpen] = useState(() => MORE_FILTERS.some((name) => query(name) !== null));
  return (
    <div class="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <FilterBox name="text" placeholder="Text in the event" />
      <Button
        class="max-sm:order-first sm:hidden"
        icon={SlidersHorizontal}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? "Fewer filters" : "More filters"}
      </Button>
      <div class={`contents ${isOpen ? "" : "max-sm:hidden"}`}>
        <MoreFilters partitions={partitions} order={order} />
      </div>
      <div class="ml-auto flex items-center max-sm:order-first">
        <CopyCommand short command={commandOf(topic)} />
        <Button
          kind="quiet"
          icon={RefreshCw}
          aria-label="Look again"
          title="Look again"
          onClick={refreshAll}
        />
      </div>
    </div>
  );
}

/** On phones they are folded away, unless one of them is in use: the events are what one came for. */
const MORE_FILTERS = ["key", "header", "from", "partition", "order"];

function MoreFilters({ partitions, order }: { readonly partitions: number; readonly order: string }) {
  return (
    <>
      <FilterBox name="key" placeholder="Key" main={false} />
      <FilterBox name="header" label="Header" placeholder="Header: name=…" hint="name=value" main={false} />
      <FilterBox
        name="from"
        label="From"
        placeholder="From: time, seq:42"
        hint="A time, seq:42 or id:…"
        main={false}
      />
      <SelectField
        bare
        label="Partition"
        value={query("partition") ?? ""}
        choices={[
          { value: "", label: "All partitions" },
          ...Array.from({ length: partitions }, (_, i) => ({ value: String(i), label: `Partition ${i}` })),
        ]}
        onChange={(partition) => setQuery({ partition })}
      />
      <SelectField
        bare
        label="Order"
        value={order}
        choices={[
          { value: "newest", label: "Newest first" },
          { value: "oldest", label: "Oldest first" },
        ]}
        onChange={(value) => setQuery({ order: value === usualOrder() ? null : value })}
      />
    </>
  );
}

/** Whoever says where to begin wants to see what is there, not what is newest. */
function usualOrder(): "newest" | "oldest" {
  return query("from") === null ? "newest" : "oldest";
}

/** Events of a key are looked for one by one here; its history knows them all. */
function AllOfKey({ topic }: { readonly topic: string }) {
  const key = query("key");
  if (key === null) return null;
  return <TextLink href={to("topics", topic, { tab: "key", key })}>All of this key</TextLink>;
}

function browsePath(topic: string, order: string, limit: number): string {
  const [, name, value] = /^([^=]+)=(.*)$/.exec(query("header") ?? "") ?? [];
  return withQuery(`/topics/${seg(topic)}/events`, {
    order,
    limit,
    text: query("text"),
    key: query("key"),
    from: query("from"),
    partition: query("partition"),
    ...(name !== undefined && { [`header.${name}`]: value }),
  });
}

function commandOf(topic: string): string {
  const from = query("from");
  const key = query("key");
  const partition = query("partition");
  const parts = ["promethean export", shellWord(topic)];
  if (from !== null) parts.push("--from", shellWord(from));
  if (key !== null) parts.push("--key", shellWord(key));
  if (partition !== null) parts.push("--partition", shellWord(partition));
  return parts.join(" ");
}

function NoEvents(props: { readonly topic: string; readonly scanned: number; readonly more: boolean }) {
  if (props.scanned > 0 || props.more)
    return <Empty title="No event fits">Looked at {plural(props.scanned, "event")}.</Empty>;
  return (
    <Empty
      title="No events here"
      command={`promethean publish ${shellWord(props.topic)} '{"hello":"world"}'`}
    >
      Nothing was published yet, or retention has taken it.
    </Empty>
  );
}
