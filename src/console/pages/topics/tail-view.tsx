/** The topic as it grows, newest on top. Pausing holds the picture still; what comes meanwhile is counted. */
import { Eraser, Pause, Play } from "lucide-preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isRunning } from "../../data/live.js";
import type { EventRecord } from "../../data/shapes.js";
import { type TailState, tail } from "../../data/tail.js";
import { Badge } from "../../ui/badge.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, SelectField } from "../../ui/fields.js";
import { count, shellWord } from "../../ui/format.js";
import { Section } from "../../ui/page.js";
import { openOver, query, setQuery } from "../../ui/router.js";
import { Empty, Failure } from "../../ui/states.js";
import { Table } from "../../ui/table.js";
import { EVENT_COLUMNS } from "../events/event-columns.js";

/** More would only be scrolled past. */
const KEPT = 1_000;

export function TailView({ topic, partitions }: { readonly topic: string; readonly partitions: number }) {
  const [paused, setPaused] = useState(false);
  const key = query("key") ?? undefined;
  const partition = query("partition");
  const { events, seen, missed, state, clear } = useTail({
    topic,
    key,
    partition: partition === null ? undefined : Number(partition),
    paused,
  });
  return (
    <Section>
      <div class="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <StateBadge state={state} paused={paused} missed={missed} />
        <FilterBox name="key" placeholder="Only this key" />
        <SelectField
          bare
          label="Partition"
          value={partition ?? ""}
          choices={[
            { value: "", label: "All partitions" },
            ...Array.from({ length: partitions }, (_, i) => ({ value: String(i), label: `Partition ${i}` })),
          ]}
          onChange={(value) => setQuery({ partition: value })}
        />
        <span class="text-xs text-faint" data-seen={seen}>
          {count(seen)} since you opened this
        </span>
        <div class="ml-auto flex items-center gap-1">
          <CopyCommand short command={commandOf(topic, key, partition)} />
          <Button kind="quiet" icon={Eraser} onClick={clear}>
            Clear
          </Button>
          <Button icon={paused ? Play : Pause} onClick={() => setPaused(!paused)}>
            {paused ? "Resume" : "Pause"}
          </Button>
        </div>
      </div>
      {state.kind === "refused" ? (
        <Failure problem={state.problem} />
      ) : (
        <Table
          name="tail"
          tall
          columns={EVENT_COLUMNS}
          rows={events}
          rowKey={({ id }) => id}
          open={query("event")}
          onOpen={({ id }) => openOver("event", id)}
          empty={
            <Empty
              title="Waiting for events"
              command={`promethean publish ${shellWord(topic)} '{"hello":"world"}'`}
            >
              What is published from now on appears here.
            </Empty>
          }
        />
      )}
    </Section>
  );
}

function commandOf(topic: string, key: string | undefined, partition: string | null): string {
  const parts = ["promethean tail", shellWord(topic)];
  if (key !== undefined) parts.push("--key", shellWord(key));
  if (partition !== null) parts.push("--partition", shellWord(partition));
  return parts.join(" ");
}

function StateBadge(props: { readonly state: TailState; readonly paused: boolean; readonly missed: number }) {
  const { state, paused, missed } = props;
  if (paused) return <Badge tone="warn">Paused{missed > 0 ? `, ${count(missed)} more` : ""}</Badge>;
  if (!isRunning.value) return <Badge>Live updates are off</Badge>;
  switch (state.kind) {
    case "live":
      return <Badge tone="ember">Live</Badge>;
    case "connecting":
      return <Badge>Connecting</Badge>;
    case "reconnecting":
      return <Badge>Reconnecting</Badge>;
    case "refused":
      return <Badge tone="bad">Refused</Badge>;
  }
}

function useTail(o: {
  readonly topic: string;
  readonly key: string | undefined;
  readonly partition: number | undefined;
  readonly paused: boolean;
}) {
  const { topic, key, partition } = o;
  const [state, setState] = useState<TailState>({ kind: "connecting" });
  const [shown, setShown] = useState<{ events: readonly EventRecord[]; seen: number; missed: number }>({
    events: [],
    seen: 0,
    missed: 0,
  });
  const paused = useRef(o.paused);
  const held = useRef<EventRecord[]>([]);
  paused.current = o.paused;
  const running = isRunning.value;
  const add = (fresh: readonly EventRecord[]): void => {
    if (paused.current) {
      held.current = [...held.current, ...fresh].slice(-KEPT);
      setShown((before) => ({
        ...before,
        seen: before.seen + fresh.length,
        missed: before.missed + fresh.length,
      }));
      return;
    }
    const newest = [...fresh].reverse().slice(0, KEPT);
    setShown((before) => ({
      events: [...newest, ...before.events].slice(0, KEPT),
      seen: before.seen + fresh.length,
      missed: 0,
    }));
  };
  useEffect(() => {
    if (!running) return;
    return tail({ topic, key, partition, onEvents: add, onState: setState });
  }, [topic, key, partition, running]);
  useEffect(() => {
    if (o.paused || held.current.length === 0) return;
    const newest = held.current.reverse();
    held.current = [];
    setShown((before) => ({ ...before, events: [...newest, ...before.events].slice(0, KEPT), missed: 0 }));
  }, [o.paused]);
  return { ...shown, state, clear: () => setShown({ events: [], seen: 0, missed: 0 }) };
}
