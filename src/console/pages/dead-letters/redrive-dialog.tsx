/** Redriving: first what it would do, then, with progress, the deed. It goes on if one leaves the page. */
import { useState } from "preact/hooks";
import { call, seg } from "../../data/api.js";
import { type DryRun, useDryRun } from "../../data/dry-run.js";
import type { Job } from "../../data/shapes.js";
import { CopyCommand } from "../../ui/copy.js";
import { ActionDialog } from "../../ui/dialog.js";
import { TextField } from "../../ui/fields.js";
import { count, plural, shellWord } from "../../ui/format.js";
import { Progress } from "../../ui/progress.js";
import { sentence } from "../../ui/states.js";
import { toast } from "../../ui/toast.js";
import { JobDialog } from "../jobs/job-dialog.js";
import { choiceFlags, choiceWords, type LetterChoice } from "./letter-choice.js";

interface Redriven {
  readonly redriven: number;
  readonly passedOver: number;
  readonly superseded: number;
  readonly preview?: readonly unknown[];
}

interface RedriveProps {
  readonly topic: string;
  readonly choice: LetterChoice;
  readonly onClose: () => void;
}

export function RedriveDialog({ topic, choice, onClose }: RedriveProps) {
  const [rate, setRate] = useState("");
  const [limit, setLimit] = useState("");
  const [job, setJob] = useState<{ id: string; total: number } | null>(null);
  const body = { ...choice, ...numberOf("rate", rate), ...numberOf("limit", limit) };
  const path = `/dlq/${seg(topic)}/redrive`;
  const dry = useDryRun<Redriven>(path, body);
  if (job !== null) return <Running id={job.id} total={job.total} topic={topic} onClose={onClose} />;
  const total = dry.data?.preview?.length ?? dry.data?.redriven ?? 0;
  const start = async (): Promise<void> => {
    const started = await call<{ job: Job }>(path, { body: { ...body, background: true } });
    setJob({ id: started.job.id, total });
  };
  return (
    <ActionDialog
      title="Redrive dead letters"
      verb={dry.data === undefined ? "Redrive" : `Redrive ${plural(total, "event")} to ${topic}`}
      ready={total > 0}
      act={start}
      onClose={onClose}
      extra={<CopyCommand command={commandOf(topic, choice, rate, limit)} />}
    >
      <p class="mb-3">
        Publishes {choiceWords(choice)} to <code class="mono">{topic}</code> again, in order of their keys,
        only for the group that gave them up. Each comes back once, however often this is repeated.
      </p>
      <div class="mb-3 grid grid-cols-2 gap-3">
        <TextField
          label="Rate"
          type="number"
          value={rate}
          onInput={setRate}
          placeholder="no limit"
          hint="Events a second"
        />
        <TextField
          label="At most"
          type="number"
          value={limit}
          onInput={setLimit}
          placeholder="all"
          hint="Events, the oldest first"
        />
      </div>
      <DryRunWords dry={dry} total={total} />
    </ActionDialog>
  );
}

function DryRunWords({ dry, total }: { readonly dry: DryRun<Redriven>; readonly total: number }) {
  if (dry.problem !== undefined) return <p class="text-bad">{sentence(dry.problem.message)}</p>;
  if (dry.data === undefined) return <p class="text-faint">Trying it out…</p>;
  const { superseded } = dry.data;
  return (
    <p class="rounded-md border border-line bg-sunken px-3 py-2" data-dry-run={total}>
      A dry run says: <strong>{plural(total, "event")}</strong> would be published
      {superseded > 0 ? `; ${count(superseded)} stay, because a newer event of their key is there` : ""}.
    </p>
  );
}

function Running(props: {
  readonly id: string;
  readonly total: number;
  readonly topic: string;
  readonly onClose: () => void;
}) {
  const { id, total, topic, onClose } = props;
  const redriven = (job: Job | undefined): number =>
    (job?.result as Redriven | undefined)?.redriven ?? Number(job?.progress.redriven ?? 0);
  return (
    <JobDialog
      id={id}
      titles={{ running: "Redriving…", over: (state) => `Redrive ${state}` }}
      onClose={onClose}
      onDone={(job) => toast("good", `Redrove ${plural(redriven(job), "event")}`, `to ${topic}`)}
    >
      {(job, isOver) => (
        <Progress done={redriven(job)} total={isOver ? redriven(job) : total} label="Redriven events" />
      )}
    </JobDialog>
  );
}

function numberOf(name: string, text: string): Record<string, number> {
  const value = Number(text);
  return text === "" || !Number.isFinite(value) || value <= 0 ? {} : { [name]: value };
}

function commandOf(topic: string, choice: LetterChoice, rate: string, limit: string): string {
  const more = `${rate === "" ? "" : ` --rate ${shellWord(rate)}`}${limit === "" ? "" : ` --limit ${shellWord(limit)}`}`;
  return `promethean dlq redrive ${shellWord(topic)}${choiceFlags(choice)}${more} --dry-run`;
}
