/** Moving a group: the place, what that would mean, and only then the deed. */
import { useState } from "preact/hooks";
import { call, seg } from "../../data/api.js";
import { type DryRun, useDryRun } from "../../data/dry-run.js";
import { refreshAll } from "../../data/live.js";
import type { MovedGroup } from "../../data/shapes.js";
import { CopyCommand } from "../../ui/copy.js";
import { ActionDialog } from "../../ui/dialog.js";
import { SelectField, TextField } from "../../ui/fields.js";
import { count, plural, shellWord } from "../../ui/format.js";
import { sentence } from "../../ui/states.js";
import { toast } from "../../ui/toast.js";

type Kind = "earliest" | "latest" | "ts" | "id" | "seq";
type Target = "earliest" | "latest" | { ts: number } | { id: string } | { seq: number; partition: number };

const KINDS = [
  { value: "earliest", label: "The beginning: all events again" },
  { value: "latest", label: "The end: what waits is skipped" },
  { value: "ts", label: "A time" },
  { value: "id", label: "After an event" },
  { value: "seq", label: "A seq of one partition" },
];

export function MoveDialog(props: {
  readonly group: string;
  readonly topic: string;
  readonly onClose: () => void;
}) {
  const { group, topic, onClose } = props;
  const [kind, setKind] = useState<Kind>("earliest");
  const [text, setText] = useState("");
  const [partition, setPartition] = useState("0");
  const to = targetOf(kind, text, partition);
  const path = `/groups/${seg(group)}/cursor`;
  const preview = useDryRun<MovedGroup>(path, to === null ? null : { topic, to });
  const command = commandOf(group, topic, to);
  const move = async (): Promise<void> => {
    const moved = await call<MovedGroup>(path, { body: { topic, to } });
    toast("good", `${group} was moved`, consequence(moved));
    refreshAll();
    onClose();
  };
  return (
    <ActionDialog
      title={`Move ${group} on ${topic}`}
      verb={preview.data === undefined ? "Move group" : verbOf(group, preview.data)}
      kind="danger"
      ready={preview.data !== undefined}
      act={move}
      onClose={onClose}
      extra={command !== null && <CopyCommand command={command} />}
    >
      <div class="flex flex-col gap-3">
        <SelectField
          label="Where to"
          value={kind}
          choices={KINDS}
          onChange={(value) => setKind(value as Kind)}
        />
        {kind === "ts" && <TextField label="Time" type="datetime-local" value={text} onInput={setText} />}
        {kind === "id" && <TextField label="Event id" mono value={text} onInput={setText} />}
        {kind === "seq" && (
          <div class="grid grid-cols-2 gap-3">
            <TextField label="Partition" type="number" value={partition} onInput={setPartition} />
            <TextField label="Seq (settled up to here)" type="number" value={text} onInput={setText} />
          </div>
        )}
        <Preview preview={preview} />
      </div>
    </ActionDialog>
  );
}

function Preview({ preview }: { readonly preview: DryRun<MovedGroup> }) {
  const { data, problem } = preview;
  if (problem !== undefined) return <p class="text-bad">{sentence(problem.message)}</p>;
  if (data === undefined) return <p class="text-faint">Say where to, and you will see what that means.</p>;
  return (
    <div class="rounded-md border border-line bg-sunken p-3" data-preview>
      <p>{consequence(data)}</p>
      <ul class="mt-2 text-xs text-soft">
        {data.partitions
          .filter(({ from, to }) => from !== to)
          .slice(0, 12)
          .map(({ partition, from, to }) => (
            <li key={partition} class="mono text-xs">
              partition {partition}: {count(from)} → {count(to)}
            </li>
          ))}
      </ul>
    </div>
  );
}

function consequence({ redelivered, skipped, events }: MovedGroup): string {
  const parts = [];
  if (redelivered > 0) parts.push(`${plural(redelivered, "settled event")} would come again`);
  if (skipped > 0) parts.push(`${plural(skipped, "unsettled event")} would never come`);
  if (parts.length === 0) parts.push("Nothing comes again, nothing is skipped");
  return `${parts.join("; ")}. From there on it has ${plural(events, "event")} to go.`;
}

function verbOf(group: string, { redelivered, skipped }: MovedGroup): string {
  if (skipped > 0) return `Skip ${plural(skipped, "event")}`;
  return redelivered > 0 ? `Redeliver ${plural(redelivered, "event")}` : `Move ${group}`;
}

function targetOf(kind: Kind, text: string, partition: string): Target | null {
  switch (kind) {
    case "earliest":
    case "latest":
      return kind;
    case "ts": {
      const ts = Date.parse(text);
      return Number.isNaN(ts) ? null : { ts };
    }
    case "id":
      return text.trim() === "" ? null : { id: text.trim() };
    case "seq":
      return /^\d+$/.test(text) && /^\d+$/.test(partition)
        ? { seq: Number(text), partition: Number(partition) }
        : null;
  }
}

/** null: the command line moves all partitions of a topic, never one. */
function commandOf(group: string, topic: string, to: Target | null): string | null {
  const place = placeText(to);
  return place === null
    ? null
    : `promethean cursor set ${shellWord(group)} ${shellWord(place)} --topic ${shellWord(topic)} --dry-run`;
}

function placeText(to: Target | null): string | null {
  if (to === null || typeof to === "string") return to;
  if ("ts" in to) return new Date(to.ts).toISOString();
  return "id" in to ? `id:${to.id}` : null;
}
