/** The documents of a view: searched by field, ordered, page by page. */
import { RotateCw, SearchX } from "lucide-preact";
import { useState } from "preact/hooks";
import { seg, withQuery } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import { type Pages, usePages } from "../../data/pages.js";
import { may } from "../../data/session.js";
import type { GroupLag, Items, ViewInfo, ViewRecord } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox } from "../../ui/fields.js";
import { count, lagText, oneLine, plural, shellWord, visible } from "../../ui/format.js";
import { Link, TextLink } from "../../ui/link.js";
import { MoreButton } from "../../ui/more-button.js";
import { Ago } from "../../ui/now.js";
import { PageHead, Section } from "../../ui/page.js";
import { go, query, setQuery, to, toDocument } from "../../ui/router.js";
import { Empty, Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { feederOf } from "./feeder.js";
import { RebuildDialog } from "./rebuild-dialog.js";
import { type Where, whereOf } from "./where.js";

type Page = Items<ViewRecord> & { readonly next: string | null };

const LIMIT = 200;
const MAX_FIELDS = 6;

export function ViewDocuments({ view }: { readonly view: string }) {
  const info = useLive<Items<ViewInfo>>("/views", 10_000).data?.items.find((one) => one.view === view);
  const groups = useLive<Items<GroupLag>>("/groups", 4_000).data?.items ?? [];
  const where = whereOf(query("where") ?? "");
  const path = withQuery(`/snap/${seg(view)}`, { ...where.params, limit: LIMIT, order: query("order") });
  const live = usePages<ViewRecord, Page>(path, 3_000, { after: "after", idOf: ({ _key }) => _key });
  const [rebuilding, setRebuilding] = useState(false);
  const feeder = info && feederOf(info, groups);
  return (
    <>
      <PageHead
        title={view}
        mono
        crumbs={[{ label: "Views", href: to("views") }]}
        actions={
          <>
            <CopyCommand command={commandOf(view, where.params, query("order"))} />
            {may("ops", "rebuild") && info?.topic != null && (
              <Button icon={RotateCw} onClick={() => setRebuilding(true)}>
                Rebuild…
              </Button>
            )}
          </>
        }
      >
        {info !== undefined && (
          <>
            {plural(info.documents, "document")}
            {info.topic != null && (
              <>
                {" "}
                made of <TextLink href={to("topics", info.topic)}>{info.topic}</TextLink>
              </>
            )}
            {feeder !== undefined && <>, {lagText(feeder)}</>}
          </>
        )}
      </PageHead>
      <Section>
        <div class="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
          <FilterBox name="where" label="Search by field" placeholder="status=paid total>100" />
          <GoToKey view={view} />
        </div>
        {where.wrong === undefined ? (
          <Loaded live={live} rows={10}>
            {() => <Documents view={view} live={live} />}
          </Loaded>
        ) : (
          <div role="alert">
            <Empty icon={SearchX} title="That is no search">
              {where.wrong}
            </Empty>
          </div>
        )}
      </Section>
      {rebuilding && <RebuildDialog view={view} onClose={() => setRebuilding(false)} />}
    </>
  );
}

function Documents({ view, live }: { readonly view: string; readonly live: Pages<ViewRecord, Page> }) {
  const { items } = live;
  return (
    <>
      <Table
        name="documents"
        tall
        columns={columnsOf(view, items)}
        rows={items}
        rowKey={({ _key }) => _key}
        onOpen={({ _key }) => go(toDocument(view, _key))}
        empty={
          query("where") === null ? (
            <Empty title="No documents">The projector writes one with the first event of each key.</Empty>
          ) : (
            <Empty title="No document fits" />
          )
        }
      />
      {items.length > 0 && (
        <div class="flex items-center gap-3 border-t border-line px-4 py-2 text-xs text-faint">
          {count(items.length)} shown{live.hasMore && ", there are more"}
          <MoreButton live={live} />
        </div>
      )}
    </>
  );
}

function commandOf(view: string, params: Where["params"], order: string | null): string {
  const parts = ["promethean view ls", shellWord(view)];
  for (const [name, value] of Object.entries(params))
    parts.push("--where", shellWord(`${name.slice("where.".length)}=${value}`));
  if (order !== null) parts.push("--order", shellWord(order));
  return parts.join(" ");
}

function GoToKey({ view }: { readonly view: string }) {
  const [key, setKey] = useState("");
  return (
    <form
      class="flex items-center gap-2 max-sm:w-full"
      onSubmit={(event) => {
        event.preventDefault();
        if (key !== "") go(toDocument(view, key));
      }}
    >
      <input
        class="field w-44 font-mono placeholder:font-sans max-sm:w-full"
        aria-label="Document key"
        placeholder="Open a key"
        spellcheck={false}
        value={key}
        onInput={(event) => setKey(event.currentTarget.value)}
      />
    </form>
  );
}

/** The fields that most of the first documents have, as columns; a click on a head orders by it, in the store. */
function columnsOf(view: string, items: readonly ViewRecord[]): Column<ViewRecord>[] {
  const counts = new Map<string, number>();
  for (const item of items.slice(0, 50)) {
    for (const [name, value] of Object.entries(item)) {
      if (!name.startsWith("_") && typeof value !== "object") counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const fields = [...counts.keys()].slice(0, MAX_FIELDS);
  const numbers = new Set(fields.filter((field) => areNumbers(items, field)));
  const widest = fields.findLast((field) => !numbers.has(field));
  return [
    {
      id: "key",
      head: "Key",
      grow: "phone",
      cell: ({ _key }) => (
        <Link href={toDocument(view, _key)} class="mono rounded-sm hover:underline">
          {visible(_key) || '""'}
        </Link>
      ),
    },
    ...fields.map(
      (field, i): Column<ViewRecord> => ({
        id: field,
        head: <OrderBy field={field} />,
        wide: i > 1 || (i > 0 && "tablet"),
        grow: field === widest,
        ...(numbers.has(field) && { align: "right" }),
        cell: (row) => <span class="text-soft">{oneLine(row[field] ?? "", 60)}</span>,
      }),
    ),
    { id: "version", head: "Version", align: "right", wide: true, cell: ({ _v }) => count(_v) },
    { id: "age", head: "Changed", align: "right", cell: ({ _ts }) => <Ago ts={_ts} /> },
  ];
}

/** Numbers stand below each other by their last digit. */
function areNumbers(items: readonly ViewRecord[], field: string): boolean {
  return items.slice(0, 50).every((item) => item[field] === undefined || typeof item[field] === "number");
}

function OrderBy({ field }: { readonly field: string }) {
  const order = query("order");
  const next = order === field ? `-${field}` : order === `-${field}` ? null : field;
  return (
    <button
      type="button"
      class="rounded-sm hover:text-ink max-sm:h-10"
      onClick={() => setQuery({ order: next })}
    >
      {field}
      {order === field ? " ↑" : order === `-${field}` ? " ↓" : ""}
    </button>
  );
}
