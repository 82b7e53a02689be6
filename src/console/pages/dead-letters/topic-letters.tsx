/** The dead letters of one topic: by kind, one by one, and what can be done with them. */
import { RotateCcw, Trash2 } from "lucide-preact";
import { useState } from "preact/hooks";
import { seg, withQuery } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import { usePages } from "../../data/pages.js";
import { may } from "../../data/session.js";
import type { Items, Letter, LetterSummary } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, SelectField } from "../../ui/fields.js";
import { count, plural, sentenceCase, shellWord, visible } from "../../ui/format.js";
import { MoreButton } from "../../ui/more-button.js";
import { Ago } from "../../ui/now.js";
import { PageHead, Section } from "../../ui/page.js";
import { openOver, query, setQuery, to } from "../../ui/router.js";
import { Empty, Loaded, Skeleton } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { DiscardDialog } from "./discard-dialog.js";
import { choiceFlags, choiceInAddress } from "./letter-choice.js";
import { LetterPanel } from "./letter-panel.js";
import { RedriveDialog } from "./redrive-dialog.js";

const LIMIT = 500;

export function TopicLetters({ topic }: { readonly topic: string }) {
  const status = query("status") ?? "open";
  const choice = choiceInAddress();
  const order = query("order") ?? "newest";
  const path = withQuery(`/dlq/${seg(topic)}`, { ...choice, ids: null, status, order, limit: LIMIT });
  const live = usePages<Letter, Items<Letter>>(path, 4_000, { after: "after", idOf: ({ id }) => id });
  const summaries = useLive<Items<LetterSummary>>("/dlq", 4_000);
  const summary = summaries.data?.items.find((one) => one.topic === topic);
  const [open, setOpen] = useState<"redrive" | "discard" | null>(null);
  const letter = query("letter");
  const { items } = live;
  const isAll = !live.hasMore && !live.isLoading;
  const isCounting = summaries.data === undefined && summaries.problem?.isOffline !== false;
  const isOpen = status === "open" && items.length > 0;
  // All of them are counted; of a choice only what was fetched is known.
  const total = isAll ? items.length : Object.keys(choice).length === 0 ? summary?.open : undefined;
  return (
    <>
      <PageHead
        title={topic}
        mono
        crumbs={[{ label: "Dead letters", href: to("dead-letters") }]}
        badges={summary && summary.open > 0 && <Badge tone="bad">{count(summary.open)} open</Badge>}
        actions={
          <>
            <CopyCommand
              command={`promethean dlq ls ${shellWord(topic)}${choiceFlags(choice)}${status === "open" ? "" : ` --status ${shellWord(status)}`}${order === "newest" ? " --newest" : ""}`}
            />
            {isOpen && may("ops", "discard") && (
              <Button icon={Trash2} onClick={() => setOpen("discard")}>
                Discard…
              </Button>
            )}
            {isOpen && may("ops", "redrive") && (
              <Button kind="primary" icon={RotateCcw} onClick={() => setOpen("redrive")}>
                {total === undefined ? "Redrive events" : `Redrive ${plural(total, "event")}`}…
              </Button>
            )}
          </>
        }
      />
      <div
        class={`grid items-start gap-4 ${isCounting || summary !== undefined ? "lg:grid-cols-[16rem_minmax(0,1fr)]" : ""}`}
      >
        <Kinds summary={summary} isComing={isCounting} />
        <Section>
          <LetterBar
            status={status}
            order={order}
            shown={live.data === undefined ? "" : `${count(items.length)}${isAll ? "" : " and more"} shown`}
          />
          <Loaded live={live} rows={8}>
            {() => (
              <Table
                name="letters"
                columns={COLUMNS}
                rows={items}
                rowKey={({ id }) => id}
                open={letter}
                onOpen={({ id }) => openOver("letter", id)}
                empty={
                  <Empty title={status === "open" ? "Nothing waits for a decision" : "No letter fits"} />
                }
              />
            )}
          </Loaded>
          {!isAll && (
            <div class="flex border-t border-line px-4 py-2">
              <MoreButton live={live} />
            </div>
          )}
        </Section>
      </div>
      {letter !== null && <LetterPanel topic={topic} id={letter} />}
      {open === "redrive" && <RedriveDialog topic={topic} choice={choice} onClose={() => setOpen(null)} />}
      {open === "discard" && <DiscardDialog topic={topic} choice={choice} onClose={() => setOpen(null)} />}
    </>
  );
}

function LetterBar(props: { readonly status: string; readonly order: string; readonly shown: string }) {
  const { status, order, shown } = props;
  return (
    <div class="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <FilterBox name="key" placeholder="Key" />
      <SelectField
        bare
        label="Status"
        value={status}
        choices={["open", "redriven", "discarded", "any"].map((value) => ({
          value,
          label: sentenceCase(value),
        }))}
        onChange={(value) => setQuery({ status: value === "open" ? null : value })}
      />
      <SelectField
        bare
        label="Order"
        value={order}
        choices={[
          { value: "newest", label: "Newest first" },
          { value: "oldest", label: "By partition" },
        ]}
        onChange={(value) => setQuery({ order: value === "newest" ? null : value })}
      />
      <span class="ml-auto text-xs text-faint">{shown}</span>
    </div>
  );
}

/** By error class and by group: each a filter. */
function Kinds(props: { readonly summary: LetterSummary | undefined; readonly isComing: boolean }) {
  const { summary, isComing } = props;
  if (isComing)
    return (
      <Section title="By error">
        <Skeleton rows={3} />
      </Section>
    );
  if (summary === undefined) return null;
  return (
    <div class="flex min-w-0 flex-col gap-4">
      <KindList
        title="By error"
        name="errorClass"
        counts={summary.byErrorClass}
        examples={summary.errorExamples}
      />
      <KindList title="By group" name="group" counts={summary.byGroup} />
    </div>
  );
}

function KindList(props: {
  readonly title: string;
  readonly name: "errorClass" | "group";
  readonly counts: Readonly<Record<string, number>>;
  readonly examples?: Readonly<Record<string, string>>;
}) {
  const chosen = query(props.name);
  const entries = Object.entries(props.counts).sort(([, a], [, b]) => b - a);
  if (entries.length === 0 && chosen === null) return null;
  return (
    <Section title={props.title}>
      <ul class="py-1">
        {entries.map(([name, n]) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={chosen === name}
              onClick={() => setQuery({ [props.name]: chosen === name ? null : name })}
              class={`flex w-full items-start gap-3 px-4 py-1.5 text-left text-sm hover:bg-sunken max-sm:py-3 ${chosen === name ? "bg-ember-wash" : ""}`}
            >
              <span class="min-w-0 flex-1 wrap-anywhere">
                {visible(name)}
                <Example of={name} message={props.examples?.[name]} />
              </span>
              <span class="text-soft">{count(n)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What stands for the numbers and values that a class leaves out, in one of its letters. */
function Example({ of, message }: { readonly of: string; readonly message: string | undefined }) {
  if (message === undefined || of.endsWith(`: ${message}`)) return null;
  return <span class="line-clamp-2 text-xs text-soft">such as: {visible(message)}</span>;
}

const TONES = { open: "bad", redriven: "good", discarded: "neutral" } as const;

const COLUMNS: readonly Column<Letter>[] = [
  { id: "age", head: "Given up", sort: ({ ts }) => ts, cell: ({ ts }) => <Ago ts={ts} /> },
  {
    id: "key",
    head: "Key",
    sort: ({ key = "" }) => key,
    cell: ({ key }) => (
      <span class="mono inline-block max-w-40 truncate align-bottom max-sm:max-w-28" title={key}>
        {visible(key ?? "–")}
      </span>
    ),
  },
  {
    id: "error",
    head: "Error",
    grow: true,
    cell: ({ error }) => <span title={error.message}>{visible(error.message.trim())}</span>,
  },
  {
    id: "group",
    head: "Group",
    wide: true,
    cell: ({ origin }) => <span class="text-soft">{origin.group}</span>,
  },
  {
    id: "tries",
    head: "Tries",
    align: "right",
    wide: true,
    sort: ({ attempts }) => attempts,
    cell: ({ attempts }) => count(attempts),
  },
  {
    id: "status",
    head: "Status",
    wide: true,
    cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge>,
  },
];
