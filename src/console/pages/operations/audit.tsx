/** Who did what, newest first. */

import { usePages } from "../../data/pages.js";
import type { AuditEntry, Items } from "../../data/shapes.js";
import { FilterBox, passes } from "../../ui/fields.js";
import { count, moment, oneLine, plural } from "../../ui/format.js";
import { JsonView } from "../../ui/json-view.js";
import { MoreButton } from "../../ui/more-button.js";
import { Ago } from "../../ui/now.js";
import { Facts, Section } from "../../ui/page.js";
import { Panel, PanelPart } from "../../ui/panel.js";
import { closeOver, openOver, query } from "../../ui/router.js";
import { Empty, Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";

export function Audit() {
  const live = usePages<AuditEntry, Items<AuditEntry>>("/audit?limit=200", 5_000, {
    after: "before",
    idOf: ({ number }) => String(number),
  });
  const filter = query("q") ?? "";
  return (
    <Section>
      <Loaded live={live}>
        {() => {
          const all = live.items;
          const rows = all.filter(({ actor, action, target }) => passes(filter, actor, action, target));
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
                onOpen={({ number }) => openOver("entry", number)}
                empty={
                  <Empty title={all.length > 0 ? "No entry fits the filter" : "Nothing was done yet"}>
                    Redrives, moved cursors, pauses, rebuilds and everything else that changes something is
                    kept here.
                  </Empty>
                }
              />
              {all.length > 0 && (
                <div class="flex items-center border-t border-line px-4 py-2 text-xs text-faint">
                  {count(rows.length)} of {plural(all.length, "entry").replace("entrys", "entries")}
                  {live.hasMore && ", there are more"}
                  <MoreButton live={live} />
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
  { id: "actor", head: "Who", wide: "tablet", cell: ({ actor }) => <span class="font-medium">{actor}</span> },
  { id: "action", head: "What", cell: ({ action }) => <code class="mono">{action}</code> },
  { id: "target", head: "Where", grow: "phone", cell: ({ target }) => target },
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
    <Panel label="Audit entry" title={entry.action} onClose={() => closeOver("entry")}>
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
