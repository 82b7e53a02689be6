/** Redrives, rebuilds and removals that were asked for, on any hub. */
import { useLive } from "../../data/live.js";
import type { Items, Job } from "../../data/shapes.js";
import { Badge, type Tone } from "../../ui/badge.js";
import { duration } from "../../ui/format.js";
import { Ago } from "../../ui/now.js";
import { Section } from "../../ui/page.js";
import { Empty, Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { StopButton } from "../jobs/stop-button.js";
import { figureWords } from "./figure-words.js";

export function JobList() {
  const live = useLive<Items<Job>>("/jobs", 2_000);
  return (
    <Section>
      <Loaded live={live}>
        {({ items }) => (
          <Table
            name="jobs"
            columns={COLUMNS}
            rows={items}
            rowKey={({ id }) => id}
            empty={
              <Empty title="No jobs yet">
                Redrives, rebuilds and removals of topics that you start are listed here with their progress.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  );
}

const TONES: Readonly<Record<Job["state"], Tone>> = {
  running: "ember",
  done: "good",
  failed: "bad",
  stopped: "neutral",
  lost: "warn",
};

const COLUMNS: readonly Column<Job>[] = [
  { id: "kind", head: "Job", cell: ({ kind }) => <span class="font-medium">{kind}</span> },
  { id: "target", head: "Of", cell: ({ target }) => target },
  { id: "state", head: "State", cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
  {
    id: "progress",
    head: "Progress",
    grow: true,
    cell: ({ progress, error }) =>
      error === undefined ? (
        <span class="text-soft">{figureWords(progress)}</span>
      ) : (
        <span class="text-bad">{error.detail}</span>
      ),
  },
  { id: "actor", head: "By", wide: true, cell: ({ actor }) => <span class="text-soft">{actor}</span> },
  { id: "started", head: "Started", align: "right", cell: ({ startedMs }) => <Ago ts={startedMs} /> },
  {
    id: "took",
    head: "Took",
    align: "right",
    wide: true,
    cell: ({ startedMs, endedMs }) => (endedMs === undefined ? "–" : duration((endedMs - startedMs) / 1_000)),
  },
  {
    id: "stop",
    head: <span class="sr-only">Stop</span>,
    align: "right",
    cell: (job) => <StopButton job={job} kind="quiet" />,
  },
];
