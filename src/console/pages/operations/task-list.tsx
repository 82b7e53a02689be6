/** Projectors, feeds, drainers, compactors and retention: each with its state and its figures. */
import { CircleCheck, CircleStop, CircleX, Loader, RotateCw } from "lucide-preact";
import { useLive } from "../../data/live.js";
import type { Items, TaskReport } from "../../data/shapes.js";
import { Badge, type Tone } from "../../ui/badge.js";
import { FilterBox, passes } from "../../ui/fields.js";
import { count } from "../../ui/format.js";
import { Ago } from "../../ui/now.js";
import { Section } from "../../ui/page.js";
import { query } from "../../ui/router.js";
import { Empty, Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { figureWords } from "./figure-words.js";

export function TaskList() {
  const live = useLive<Items<TaskReport>>("/tasks", 2_000);
  const filter = query("q") ?? "";
  return (
    <Section>
      <Loaded live={live}>
        {({ items }) => (
          <>
            <div class="border-b border-line px-4 py-2">
              <FilterBox placeholder="Filter by name or kind" />
            </div>
            <Table
              name="tasks"
              columns={COLUMNS}
              rows={items.filter(({ name, kind }) => passes(filter, name, kind))}
              rowKey={({ name, kind }) => `${kind} ${name}`}
              sorted="name"
              rowTone={({ state }) => (state === "failed" ? "bad" : undefined)}
              empty={
                <Empty title="Nothing runs in this hub's process">
                  Projectors, outbox drainers, compaction and retention appear here when the program that runs
                  the hub starts them on its bus.
                </Empty>
              }
            />
          </>
        )}
      </Loaded>
    </Section>
  );
}

const STATES: Readonly<Record<TaskReport["state"], readonly [Tone, typeof CircleX]>> = {
  starting: ["info", Loader],
  running: ["good", CircleCheck],
  retrying: ["warn", RotateCw],
  stopped: ["neutral", CircleStop],
  failed: ["bad", CircleX],
};

const COLUMNS: readonly Column<TaskReport>[] = [
  {
    id: "name",
    head: "Name",
    grow: true,
    sort: ({ name }) => name,
    cell: ({ name }) => <span class="font-medium">{name}</span>,
  },
  {
    id: "kind",
    head: "Kind",
    wide: true,
    sort: ({ kind }) => kind,
    cell: ({ kind }) => <span class="text-soft">{kind}</span>,
  },
  {
    id: "state",
    head: "State",
    sort: ({ state }) => state,
    cell: ({ state }) => {
      const [tone, icon] = STATES[state];
      return (
        <Badge tone={tone} icon={icon}>
          {state}
        </Badge>
      );
    },
  },
  {
    id: "stats",
    head: "Figures",
    wide: "tablet",
    cell: ({ stats, lastError }) =>
      lastError === undefined ? (
        <span class="text-soft">{figureWords(stats)}</span>
      ) : (
        <span class="text-bad" title={lastError}>
          {lastError}
        </span>
      ),
  },
  {
    id: "restarts",
    head: "Restarts",
    align: "right",
    wide: true,
    sort: ({ restarts }) => restarts,
    cell: ({ restarts }) => count(restarts),
  },
  { id: "since", head: "Since", align: "right", wide: true, cell: ({ startedMs }) => <Ago ts={startedMs} /> },
];
