/** Who did what, newest first. */
import { useEffect, useState } from "preact/hooks";
import { query, setQuery } from "../../app/router.js";
import { call } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import { problemFrom } from "../../data/problem.js";
import type { AuditEntry, Items } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { FilterBox, passes } from "../../ui/fields.js";
import { moment, oneLine } from "../../ui/format.js";
import { JsonView } from "../../ui/json-view.js";
import { Ago } from "../../ui/now.js";
import { Facts, Section } from "../../ui/page.js";
import { Panel, PanelPart } from "../../ui/panel.js";
import { Empty, Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { toast } from "../../ui/toast.js";

type Page = Items<AuditEntry> & { readonly next: number | null };

export function Audit() {
  const live = useLive<Page>("/audit?limit=200", 5_000);
  const [older, setOlder] = useState<{ items: readonly AuditEntry[]; next: number | null | undefined }>({
    items: [],
    next: undefined,
  });
  useEffect(() => setOlder({ items: [], next: undefined }), []);
  const filter = query("q") ?? "";
  const load = async (before: number): Promise<void> => {
    try {
      const page = await call<Page>(`/audit?limit=200&before=${before}`);
      setOlder({ items: [...older.items, ...page.items], next: page.next });
    } catch (error) {
      toast("bad", "Could not load more", problemFrom(error).message);
    }
  };
  return (
    <Section>
      <Loaded live={live}>
        {(first) => {
          const lowest = first.items.at(-1)?.number ?? 0;
          const all = [...first.items, ...older.items.filter(({ number }) => number < lowest)];
          const rows = all.filter(({ actor, action, target }) => passes(filter, actor, action, target));
          const next = older.next === undefined ? first.next : older.next;
          const open = all.find(({ number }) => String(number) === query("entry"));
          return (
            <>
              <div class="border-b border-line px-4 py-2">
                <FilterBox placeholder="Filter by who, what, where" />
              </div>
              <Table
                name="audit"
                columns={COLUMNS}
                rows={rows}
                rowKey={({ number }) => String(number)}
                open={query("entry")}
                onOpen={({ number }) => setQuery({ entry: number }, { push: true })}
                empty={
                  <Empty title={all.length > 0 ? "No entry fits the filter" : "Nothing was done yet"}>
                    Redrives, moved cursors, pauses, rebuilds and everything else that changes something is
                    kept here.
                  </Empty>
                }
              />
              {next !== null && (
                <div class="flex justify-end border-t border-line px-4 py-2">
                  <Button onClick={() => load(next)}>Load more</Button>
                </div>
              )}
              {open !== undefined && <EntryPanel entry={open} />}
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { id: "at", head: "When", cell: ({ atMs }) => <Ago ts={atMs} /> },
  { id: "actor", head: "Who", cell: ({ actor }) => <span class="font-medium">{actor}</span> },
  { id: "action", head: "What", cell: ({ action }) => <code class="mono">{action}</code> },
  { id: "target", head: "Where", cell: ({ target }) => target },
  {
    id: "details",
    head: "Details",
    grow: true,
    wide: true,
    cell: ({ details }) => (
      <span class="mono text-soft">{details === undefined ? "" : oneLine(details)}</span>
    ),
  },
];

function EntryPanel({ entry }: { readonly entry: AuditEntry }) {
  return (
    <Panel label="Audit entry" title={entry.action} onClose={() => setQuery({ entry: null })}>
      <PanelPart title="Entry">
        <Facts
          facts={[
            ["When", moment(entry.atMs)],
            ["Who", entry.actor],
            ["What", entry.action],
            ["Where", entry.target],
          ]}
        />
      </PanelPart>
      {entry.details !== undefined && (
        <PanelPart title="Details">
          <JsonView value={entry.details} label="details" />
        </PanelPart>
      )}
    </Panel>
  );
}
