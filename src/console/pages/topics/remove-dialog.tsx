/**
 * Removing a topic: for good, with what goes with it said before it happens. What stands in the way is said instead. A job of the hub's, since
 * many events take a while.
 */
import { useState } from "preact/hooks";
import { call, seg } from "../../data/api.js";
import { useDryRun } from "../../data/dry-run.js";
import type { Job } from "../../data/shapes.js";
import { CopyCommand } from "../../ui/copy.js";
import { ActionDialog } from "../../ui/dialog.js";
import { Foreseen } from "../../ui/foreseen.js";
import { plural, shellWord } from "../../ui/format.js";
import { Progress } from "../../ui/progress.js";
import { go, to } from "../../ui/router.js";
import { sentence } from "../../ui/states.js";
import { toast } from "../../ui/toast.js";
import { JobDialog } from "../jobs/job-dialog.js";

interface RemovedTopic {
  readonly events: number;
  readonly deadLetters: number;
  readonly groups: readonly string[];
  readonly others: readonly string[];
  readonly obstacles?: readonly string[];
}

export function RemoveDialog({ topic, onClose }: { readonly topic: string; readonly onClose: () => void }) {
  const path = `/topics/${seg(topic)}/remove`;
  const preview = useDryRun<RemovedTopic>(path, {});
  const [job, setJob] = useState<string | null>(null);
  if (job !== null) return <Running id={job} topic={topic} onClose={onClose} />;
  const remove = async (): Promise<void> => {
    setJob((await call<{ job: Job }>(path, { body: { background: true } })).job.id);
  };
  return (
    <ActionDialog
      title="Remove topic"
      verb={`Remove ${topic}`}
      kind="danger"
      ready={preview.data !== undefined && preview.data.obstacles === undefined}
      act={remove}
      onClose={onClose}
      extra={<CopyCommand command={`promethean topic rm ${shellWord(topic)} --dry-run`} />}
    >
      <Foreseen dry={preview} looking="Looking what goes with it …">
        {(data) => <Preview {...data} topic={topic} />}
      </Foreseen>
    </ActionDialog>
  );
}

function Running(props: { readonly id: string; readonly topic: string; readonly onClose: () => void }) {
  const { id, topic, onClose } = props;
  const leave = ({ result }: Job): void => {
    toast("good", `Removed ${topic}`, `with ${plural((result as RemovedTopic).events, "event")}`);
    onClose();
    go(to("topics"));
  };
  return (
    <JobDialog
      id={id}
      titles={{ running: `Removing ${topic}…`, over: (state) => `Removal of ${topic}: ${state}` }}
      onClose={onClose}
      onDone={leave}
    >
      {(job, isOver) => !isOver && <Gone progress={job?.progress ?? {}} />}
    </JobDialog>
  );
}

function Gone({ progress }: { readonly progress: Job["progress"] }) {
  const { events = 0, total = 0 } = progress as { events?: number; total?: number };
  return <Progress done={events} total={total} label="Events taken away" />;
}

function Preview(props: RemovedTopic & { readonly topic: string }) {
  const { events, deadLetters, groups, others, obstacles = [] } = props;
  return (
    <>
      <p>
        Takes <strong>{plural(events, "event")}</strong> away for good, with the schemas of{" "}
        <code class="mono">{props.topic}</code>
        {groups.length > 0 && `, and forgets where ${groups.join(", ")} stood`}.
      </p>
      {others.length > 0 && (
        <p class="mt-2">
          With it {others.length === 1 ? "goes" : "go"} <code class="mono">{others.join(", ")}</code>
          {deadLetters > 0 && `: ${plural(deadLetters, "dead letter")} that nobody has looked after`}.
        </p>
      )}
      {obstacles.map((obstacle) => (
        <p key={obstacle} role="alert" class="mt-2 text-bad">
          {sentence(obstacle)}
        </p>
      ))}
      <p class="mt-2 text-soft">Whoever publishes to it again brings it back, empty.</p>
    </>
  );
}
