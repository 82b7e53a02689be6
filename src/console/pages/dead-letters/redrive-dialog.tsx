/** Redriving: first what it would do, then, with progress, the deed. It goes on if one leaves the page. */
import { useEffect, useState } from "preact/hooks";
import { call, seg } from "../../data/api.js";
import { refreshAll, useLive } from "../../data/live.js";
import { type Problem, problemFrom } from "../../data/problem.js";
import type { Job } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { ActionDialog, Dialog } from "../../ui/dialog.js";
import { TextField } from "../../ui/fields.js";
import { count, plural, shellWord } from "../../ui/format.js";
import { Progress } from "../../ui/progress.js";
import { sentence } from "../../ui/states.js";
import { toast } from "../../ui/toast.js";
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
  const dry = useDryRun(topic, body);
  if (job !== null) return <Running id={job.id} total={job.total} topic={topic} onClose={onClose} />;
  const total = dry.data?.preview?.length ?? dry.data?.redriven ?? 0;
  const start = async (): Promise<void> => {
    const started = await call<{ job: Job }>(`/dlq/${seg(topic)}/redrive`, {
      body: { ...body, background: true },
    });
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
          placeholder="as fast as it goes"
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
      <DryRun dry={dry} total={total} />
    </ActionDialog>
  );
}

function DryRun({
  dry,
  total,
}: {
  readonly dry: { data?: Redriven; problem?: Problem };
  readonly total: number;
}) {
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
  const job = useLive<Job>(`/jobs/${seg(id)}`, 700).data;
  const done = Number(job?.progress.redriven ?? (job?.result as Redriven | undefined)?.redriven ?? 0);
  const isOver = job !== undefined && job.state !== "running";
  const final = (job?.result as Redriven | undefined)?.redriven ?? done;
  useEffect(() => {
    if (!isOver) return;
    refreshAll();
    if (job.state === "done") toast("good", `Redrove ${plural(final, "event")}`, `to ${topic}`);
  }, [isOver]);
  const stop = (): Promise<unknown> => call(`/jobs/${seg(id)}/stop`, { body: {} });
  return (
    <Dialog
      title={isOver ? `Redrive ${job.state}` : "Redriving…"}
      onClose={onClose}
      footer={
        <>
          {!isOver && <Button onClick={stop}>Stop</Button>}
          <Button kind="primary" onClick={onClose}>
            {isOver ? "Done" : "Go on in the background"}
          </Button>
        </>
      }
    >
      <div data-job={job?.state}>
        <Progress done={isOver ? final : done} total={isOver ? final : total} label="Redriven events" />
      </div>
      {job?.error !== undefined && <p class="mt-3 text-bad">{sentence(job.error.detail)}</p>}
    </Dialog>
  );
}

function useDryRun(topic: string, body: object): { data?: Redriven; problem?: Problem } {
  const [state, setState] = useState<{ data?: Redriven; problem?: Problem }>({});
  const text = JSON.stringify(body);
  useEffect(() => {
    setState({});
    const over = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const wanted = { body: { ...body, dryRun: true }, signal: over.signal };
        setState({ data: await call<Redriven>(`/dlq/${seg(topic)}/redrive`, wanted) });
      } catch (error) {
        if (!over.signal.aborted) setState({ problem: problemFrom(error) });
      }
    }, 200);
    return () => {
      clearTimeout(timer);
      over.abort();
    };
  }, [topic, text]);
  return state;
}

function numberOf(name: string, text: string): Record<string, number> {
  const value = Number(text);
  return text === "" || !Number.isFinite(value) || value <= 0 ? {} : { [name]: value };
}

function commandOf(topic: string, choice: LetterChoice, rate: string, limit: string): string {
  const more = `${rate === "" ? "" : ` --rate ${shellWord(rate)}`}${limit === "" ? "" : ` --limit ${shellWord(limit)}`}`;
  return `promethean dlq redrive ${shellWord(topic)}${choiceFlags(choice)}${more} --dry-run`;
}
