/** Which topics have dead letters, of which kinds. */
import { CircleCheck } from "lucide-preact";
import { useLive } from "../../data/live.js";
import type { Items, LetterSummary } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { CopyCommand } from "../../ui/copy.js";
import { count, plural } from "../../ui/format.js";
import { Link } from "../../ui/link.js";
import { PageHead, Section } from "../../ui/page.js";
import { go, to } from "../../ui/router.js";
import { Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { NoneYet } from "../none-yet.js";

export function LetterTopics() {
  const live = useLive<Items<LetterSummary>>("/dlq", 4_000);
  return (
    <>
      <PageHead title="Dead letters" actions={<CopyCommand command="promethean dlq ls" />}>
        Events that a group gave up after all its tries. Nothing is lost: redrive them, or discard them with a
        reason.
      </PageHead>
      <Section>
        <Loaded live={live}>
          {({ items }) => (
            <Table
              name="letters"
              columns={COLUMNS}
              rows={items}
              rowKey={({ topic }) => topic}
              onOpen={({ topic }) => go(to("dead-letters", topic))}
              sorted="-open"
              empty={
                <NoneYet things="dead letters" icon={CircleCheck} title="No dead letters">
                  When a handler fails for the last time, the event comes here with its error, and its key
                  goes on.
                </NoneYet>
              }
            />
          )}
        </Loaded>
      </Section>
    </>
  );
}

const COLUMNS: readonly Column<LetterSummary>[] = [
  {
    id: "topic",
    head: "Topic",
    grow: "phone",
    sort: ({ topic }) => topic,
    cell: ({ topic }) => (
      <Link href={to("dead-letters", topic)} class="rounded-sm font-medium hover:underline">
        {topic}
      </Link>
    ),
  },
  {
    id: "open",
    head: "Open",
    align: "right",
    sort: ({ open }) => open,
    cell: ({ open }) =>
      open === 0 ? <span class="text-faint">0</span> : <Badge tone="bad">{count(open)}</Badge>,
  },
  {
    id: "classes",
    head: "Errors",
    grow: true,
    wide: true,
    cell: ({ byErrorClass }) => (
      <span class="text-soft">
        {Object.entries(byErrorClass)
          .sort(([, a], [, b]) => b - a)
          .map(([name, n]) => `${name} (${count(n)})`)
          .join(" · ")}
      </span>
    ),
  },
  {
    id: "groups",
    head: "Given up by",
    wide: true,
    cell: ({ byGroup }) => Object.keys(byGroup).join(", "),
  },
  {
    id: "keys",
    head: "Keys",
    align: "right",
    wide: true,
    cell: ({ byKey }) => (
      <span title={plural(Object.keys(byKey).length, "key")}>{count(Object.keys(byKey).length)}</span>
    ),
  },
  {
    id: "redriven",
    head: "Redriven",
    align: "right",
    wide: "tablet",
    sort: ({ redriven }) => redriven,
    cell: ({ redriven }) => count(redriven),
  },
  {
    id: "discarded",
    head: "Discarded",
    align: "right",
    wide: "tablet",
    sort: ({ discarded }) => discarded,
    cell: ({ discarded }) => count(discarded),
  },
];
