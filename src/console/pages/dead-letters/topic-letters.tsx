/** The dead letters of one topic: by kind, one by one, and what can be done with them. */
import { RotateCcw, Trash2 } from "lucide-preact";
import { useState } from "preact/hooks";
import { query, setQuery, to } from "../../app/router.js";
import { may } from "../../app/session.js";
import { seg, withQuery } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { Items, Letter, LetterSummary } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, SelectField } from "../../ui/fields.js";
import { count, plural, shellWord } from "../../ui/format.js";
import { Ago } from "../../ui/now.js";
import { PageHead, Section } from "../../ui/page.js";
import { Empty, Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { DiscardDialog } from "./discard-dialog.js";
import { choiceFlags, choiceInAddress } from "./letter-choice.js";
import { LetterPanel } from "./letter-panel.js";
import { RedriveDialog } from "./redrive-dialog.js";

type Page = Items<Letter> & { readonly next: string | null };

const LIMIT = 500;

export function TopicLetters({ topic }: { readonly topic: string }) {
  const status = query("status") ?? "open";
  const choice = choiceInAddress();
  const path = withQuery(`/dlq/${seg(topic)}`, { ...choice, ids: null, status, limit: LIMIT });
  const live = useLive<Page>(path, 4_000);
  const summary = useLive<Items<LetterSummary>>("/dlq", 4_000).data?.items.find((one) => one.topic === topic);
  const [open, setOpen] = useState<"redrive" | "discard" | null>(null);
  const letter = query("letter");
  const shown = live.data?.items.length ?? 0;
  const more = live.data?.next !== null && live.data !== undefined;
  const isOpen = status === "open" && shown > 0;
  return (
    <>
      <PageHead
        title={topic}
        mono
        crumbs={[{ label: "Dead letters", href: to("dead-letters") }]}
        badges={summary && summary.open > 0 && <Badge tone="bad">{count(summary.open)} open</Badge>}
        actions={
          <>
            <CopyCommand command={`promethean dlq ls ${shellWord(topic)}${choiceFlags(choice)}`} />
            {may("ops", "discard") && (
              <Button icon={Trash2} disabled={!isOpen} onClick={() => setOpen("discard")}>
                Discard…
              </Button>
            )}
            {may("ops", "redrive") && (
              <Button kind="primary" icon={RotateCcw} disabled={!isOpen} onClick={() => setOpen("redrive")}>
                {more ? "Redrive events" : `Redrive ${plural(isOpen ? shown : 0, "event")}`}…
              </Button>
            )}
          </>
        }
      />
      <div class="grid items-start gap-4 lg:grid-cols-[16rem_1fr]">
        <Kinds summary={summary} />
        <Section>
          <LetterBar status={status} shown={`${count(shown)}${more ? " and more" : ""} shown`} />
          <Loaded live={live} rows={8}>
            {({ items }) => (
              <Table
                name="letters"
                columns={COLUMNS}
                rows={items}
                rowKey={({ id }) => id}
                open={letter}
                onOpen={({ id }) => setQuery({ letter: id }, { push: letter === null })}
                empty={
                  <Empty title={status === "open" ? "Nothing waits for a decision" : "No letter fits"} />
                }
              />
            )}
          </Loaded>
        </Section>
      </div>
      {letter !== null && <LetterPanel topic={topic} id={letter} />}
      {open === "redrive" && <RedriveDialog topic={topic} choice={choice} onClose={() => setOpen(null)} />}
      {open === "discard" && <DiscardDialog topic={topic} choice={choice} onClose={() => setOpen(null)} />}
    </>
  );
}

function LetterBar({ status, shown }: { readonly status: string; readonly shown: string }) {
  return (
    <div class="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <FilterBox name="key" placeholder="Key" />
      <SelectField
        bare
        label="Status"
        value={status}
        choices={["open", "redriven", "discarded", "any"].map((value) => ({ value, label: value }))}
        onChange={(value) => setQuery({ status: value === "open" ? null : value })}
      />
      <span class="ml-auto text-xs text-faint">{shown}</span>
    </div>
  );
}

/** By error class and by group: each a filter. */
function Kinds({ summary }: { readonly summary: LetterSummary | undefined }) {
  if (summary === undefined) return null;
  return (
    <div class="flex flex-col gap-4">
      <KindList title="By error" name="errorClass" counts={summary.byErrorClass} />
      <KindList title="By group" name="group" counts={summary.byGroup} />
    </div>
  );
}

function KindList(props: {
  readonly title: string;
  readonly name: "errorClass" | "group";
  readonly counts: Readonly<Record<string, number>>;
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
              class={`flex w-full items-start gap-3 px-4 py-1.5 text-left text-sm hover:bg-sunken ${chosen === name ? "bg-ember-wash" : ""}`}
            >
              <span class="min-w-0 flex-1 break-words">{name}</span>
              <span class="text-soft">{count(n)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const TONES = { open: "bad", redriven: "good", discarded: "neutral" } as const;

const COLUMNS: readonly Column<Letter>[] = [
  { id: "age", head: "Given up", sort: ({ ts }) => ts, cell: ({ ts }) => <Ago ts={ts} /> },
  {
    id: "key",
    head: "Key",
    sort: ({ key = "" }) => key,
    cell: ({ key }) => <span class="mono inline-block max-w-40 truncate align-bottom">{key ?? "–"}</span>,
  },
  {
    id: "error",
    head: "Error",
    grow: true,
    cell: ({ error }) => <span title={error.message}>{error.message}</span>,
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
  { id: "status", head: "Status", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
];
