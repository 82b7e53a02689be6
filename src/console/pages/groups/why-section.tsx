/** Why it is stuck: the sentence, and the events behind it. */
import { CircleCheck, TriangleAlert } from "lucide-preact";
import { useState } from "preact/hooks";
import { seg } from "../../data/api.js";
import { type Live, useLive } from "../../data/live.js";
import type { Blocked, Why } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { ago, count, visible } from "../../ui/format.js";
import { TextLink } from "../../ui/link.js";
import { now } from "../../ui/now.js";
import { Section } from "../../ui/page.js";
import { openOver, query, to } from "../../ui/router.js";
import { Sentence } from "../../ui/sentence.js";
import { type Column, Table } from "../../ui/table.js";
import { EventPanel } from "../events/event-panel.js";
import { goesWell } from "./group-health.js";

/** So many of the events that are held up are shown at first: what the group does stands below them. */
const FIRST = 8;

interface WhyProps {
  readonly topic: string;
  readonly why: Why | undefined;
}

export function useWhy(group: string, topic: string | undefined): Live<Why> {
  return useLive<Why>(topic === undefined ? null : `/groups/${seg(group)}/why?topic=${seg(topic)}`, 2_000);
}

export function WhySection({ topic, why }: WhyProps) {
  const [all, setAll] = useState(false);
  if (why === undefined) return null;
  const report = why.items[0];
  const blocked = report?.blocked ?? [];
  const isWell = report === undefined || goesWell(report);
  const Icon = isWell ? CircleCheck : TriangleAlert;
  const event = query("event");
  const isAll = all || blocked.length <= FIRST + 2;
  return (
    <Section>
      <div class={`flex items-start gap-3 px-4 py-3 ${isWell ? "" : "bg-warn-wash"}`}>
        <Icon size={18} aria-hidden="true" class={`mt-0.5 shrink-0 ${isWell ? "text-good" : "text-warn"}`} />
        <p data-why class="text-base text-pretty">
          <Sentence text={why.sentence} />
        </p>
      </div>
      {blocked.length > 0 && (
        <div class="border-t border-line">
          <Table
            name="blocked"
            columns={columnsOf(topic)}
            rows={isAll ? blocked : blocked.slice(0, FIRST)}
            rowKey={({ id }) => id}
            open={event}
            onOpen={({ id }) => openOver("event", id)}
          />
          {!isAll && (
            <div class="border-t border-line px-2 py-1">
              <Button kind="quiet" onClick={() => setAll(true)}>
                Show all {count(blocked.length)} that are held up
              </Button>
            </div>
          )}
        </div>
      )}
      {event !== null && <EventPanel id={event} />}
    </Section>
  );
}

const columnsOf = (topic: string): readonly Column<Blocked>[] => [
  {
    id: "key",
    head: "Blocked key",
    grow: "phone",
    cell: ({ key }) =>
      key === undefined ? (
        <span class="text-faint">none</span>
      ) : (
        <TextLink mono href={to("topics", topic, { tab: "key", key })}>
          {visible(key)}
        </TextLink>
      ),
  },
  {
    id: "place",
    head: "Place",
    wide: true,
    cell: ({ partition, seq }) => (
      <span class="mono text-faint">
        {partition}:{seq}
      </span>
    ),
  },
  {
    id: "tries",
    head: "Failed",
    align: "right",
    cell: ({ failures, maxAttempts }) =>
      maxAttempts === undefined ? count(failures) : `${count(failures)} of ${count(maxAttempts)}`,
  },
  {
    id: "error",
    head: "Last error",
    grow: true,
    wide: "tablet",
    cell: ({ error = "–" }) => <span title={error}>{visible(error)}</span>,
  },
  {
    id: "next",
    head: "Next try",
    align: "right",
    cell: ({ running, retryAtMs }) =>
      running
        ? "now"
        : retryAtMs === undefined || retryAtMs <= now.value
          ? "soon"
          : ago(retryAtMs, now.value),
  },
  { id: "behind", head: "Wait behind", align: "right", wide: "tablet", cell: ({ behind }) => count(behind) },
];
