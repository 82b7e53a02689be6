/** Looking into a topic: from either end, by time, seq, key, header or text, page by page. */
import { RefreshCw } from "lucide-preact";
import { useEffect, useState } from "preact/hooks";
import { query, setQuery } from "../../app/router.js";
import { call, seg, withQuery } from "../../data/api.js";
import { refreshAll, useLive } from "../../data/live.js";
import { problemFrom } from "../../data/problem.js";
import type { EventRecord, Items } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, SelectField } from "../../ui/fields.js";
import { count, plural, shellWord } from "../../ui/format.js";
import { Section } from "../../ui/page.js";
import { Empty, Loaded } from "../../ui/states.js";
import { Table } from "../../ui/table.js";
import { toast } from "../../ui/toast.js";
import { EVENT_COLUMNS } from "../events/event-columns.js";

type Page = Items<EventRecord> & { readonly next: string | null; readonly scanned: number };

const LIMIT = 100;

export function Browse({ topic, partitions }: { readonly topic: string; readonly partitions: number }) {
  const order = query("order") ?? "newest";
  const path = browsePath(topic, order);
  const live = useLive<Page>(path, Number.POSITIVE_INFINITY);
  const more = useMore(path, live.data);
  return (
    <Section>
      <BrowseBar topic={topic} partitions={partitions} order={order} />
      <Loaded live={live} rows={12}>
        {(first) => {
          const rows = [...first.items, ...more.items];
          const next = more.next === undefined ? first.next : more.next;
          return (
            <>
              <Table
                name="events"
                columns={EVENT_COLUMNS}
                rows={rows}
                rowKey={({ id }) => id}
                open={query("event")}
                onOpen={({ id }) => setQuery({ event: id }, { push: query("event") === null })}
                empty={<NoEvents topic={topic} scanned={first.scanned} more={next !== null} />}
              />
              <div class="flex items-center gap-3 border-t border-line px-4 py-2 text-xs text-faint">
                {count(rows.length)} shown, {count(first.scanned + more.scanned)} looked at
                {next !== null && (
                  <Button class="ml-auto" busy={more.busy} onClick={() => more.load(next)}>
                    {rows.length === 0 ? "Look further" : "Load more"}
                  </Button>
                )}
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
  return (
    <div class="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <FilterBox name="text" placeholder="Text in the event" />
      <FilterBox name="key" placeholder="Key" main={false} />
      <FilterBox name="header" placeholder="Header: name=…" hint="name=value" main={false} />
      <FilterBox name="from" placeholder="From: time, seq:42" hint="A time, seq:42 or id:…" main={false} />
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
        onChange={(value) => setQuery({ order: value === "newest" ? null : value })}
      />
      <div class="ml-auto flex items-center">
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

function browsePath(topic: string, order: string): string {
  const [, name, value] = /^([^=]+)=(.*)$/.exec(query("header") ?? "") ?? [];
  return withQuery(`/topics/${seg(topic)}/events`, {
    order,
    limit: LIMIT,
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
  const parts = ["promethean export", shellWord(topic)];
  if (from !== null) parts.push("--from", shellWord(from));
  if (key !== null) parts.push("--key", shellWord(key));
  return parts.join(" ");
}

interface More {
  readonly items: readonly EventRecord[];
  readonly next: string | null | undefined;
  readonly scanned: number;
}

/** The pages after the first; forgotten when that changes. */
function useMore(path: string, first: Page | undefined) {
  const none: More = { items: [], next: undefined, scanned: 0 };
  const [more, setMore] = useState(none);
  const [busy, setBusy] = useState(false);
  useEffect(() => setMore(none), [path, first]);
  const load = async (after: string): Promise<void> => {
    setBusy(true);
    try {
      const page = await call<Page>(`${path}&after=${seg(after)}`);
      setMore({
        items: [...more.items, ...page.items],
        next: page.next,
        scanned: more.scanned + page.scanned,
      });
    } catch (error) {
      toast("bad", "Could not load more", problemFrom(error).message);
    } finally {
      setBusy(false);
    }
  };
  return { ...more, busy, load };
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
