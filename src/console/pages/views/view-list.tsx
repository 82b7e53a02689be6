/** All read models. */

import { useLive } from "../../data/live.js";
import type { GroupLag, Items, ViewInfo } from "../../data/shapes.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, passes } from "../../ui/fields.js";
import { count, lagText } from "../../ui/format.js";
import { Link, TextLink } from "../../ui/link.js";
import { PageHead, Section } from "../../ui/page.js";
import { go, query, to } from "../../ui/router.js";
import { Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { NoneYet } from "../none-yet.js";
import { feederOf } from "./feeder.js";

interface Row extends ViewInfo {
  readonly feeder: GroupLag | undefined;
}

export function ViewList() {
  const live = useLive<Items<ViewInfo>>("/views", 4_000);
  const groups = useLive<Items<GroupLag>>("/groups", 4_000).data?.items ?? [];
  const filter = query("q") ?? "";
  return (
    <>
      <PageHead title="Views" actions={<CopyCommand command="promethean view ls" />}>
        Read models: documents that projections keep up to date with a topic.
      </PageHead>
      <Section>
        <Loaded live={live}>
          {({ items }) => {
            const rows = items
              .filter(({ view }) => passes(filter, view))
              .map((info): Row => ({ ...info, feeder: feederOf(info, groups) }));
            return (
              <>
                <div class="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
                  <FilterBox placeholder="Filter views" />
                  <span class="ml-auto text-xs text-faint">
                    {count(rows.length)} of {count(items.length)}
                  </span>
                </div>
                <Table
                  name="views"
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={({ view }) => view}
                  onOpen={({ view }) => go(to("views", view))}
                  sorted="view"
                  empty={
                    <NoneYet
                      things="views"
                      filtered={items.length > 0 && "No view fits the filter"}
                      title="No views yet"
                      command={`startChangelogProjector(bus, { topic: "orders", view: "orders" })`}
                    >
                      A view appears when a projector writes its first document.
                    </NoneYet>
                  }
                />
              </>
            );
          }}
        </Loaded>
      </Section>
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "view",
    head: "View",
    grow: "phone",
    sort: ({ view }) => view,
    cell: ({ view }) => (
      <Link href={to("views", view)} class="rounded-sm font-medium hover:underline">
        {view}
      </Link>
    ),
  },
  {
    id: "topic",
    head: "Made of",
    grow: true,
    wide: "tablet",
    cell: ({ topic }) =>
      typeof topic === "string" ? (
        <TextLink href={to("topics", topic)}>{topic}</TextLink>
      ) : (
        <span class="text-faint">a projector of its own</span>
      ),
  },
  {
    id: "documents",
    head: "Documents",
    align: "right",
    sort: ({ documents }) => documents,
    cell: ({ documents }) => count(documents),
  },
  {
    id: "indexes",
    head: "Indexes",
    wide: true,
    cell: ({ indexes }) => (
      <span class="text-soft">
        {indexes.map(({ keys }) => Object.keys(keys).join("+")).join(", ") || "–"}
      </span>
    ),
  },
  {
    id: "lag",
    head: "Freshness",
    align: "right",
    cell: ({ feeder }) => (feeder === undefined ? <span class="text-faint">–</span> : lagText(feeder)),
  },
];
