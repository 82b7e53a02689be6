/** Rebuilding a view beside the one in use: progress, the differences, and only then, if wanted, the switch. */
import { useState } from "preact/hooks";
import { call, seg } from "../../data/api.js";
import { useDryRun } from "../../data/dry-run.js";
import { refreshAll } from "../../data/live.js";
import { problemFrom } from "../../data/problem.js";
import type { Job } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { ActionDialog } from "../../ui/dialog.js";
import { Foreseen } from "../../ui/foreseen.js";
import { count, duration, plural, shellWord, visible } from "../../ui/format.js";
import { JsonView } from "../../ui/json-view.js";
import { Progress } from "../../ui/progress.js";
import { toast } from "../../ui/toast.js";
import { JobDialog } from "../jobs/job-dialog.js";

interface RebuildPlan {
  readonly topic: string;
  readonly events: number;
  readonly others: readonly string[];
}

interface RebuildResult {
  readonly switched: boolean;
  readonly same: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** Events that the new one lacks, and the old one has. */
  readonly givenUp: number;
  readonly samples: readonly { readonly key: string; readonly before: unknown; readonly after: unknown }[];
}

export function RebuildDialog({ view, onClose }: { readonly view: string; readonly onClose: () => void }) {
  const path = `/views/${seg(view)}/rebuild`;
  const plan = useDryRun<RebuildPlan>(path, {});
  const [switchOver, setSwitchOver] = useState(false);
  const [job, setJob] = useState<string | null>(null);
  if (job !== null) return <Running id={job} view={view} onClose={onClose} />;
  const start = async (): Promise<void> => {
    const body = { ...(!switchOver && { switch: false }), samples: 10 };
    setJob((await call<{ job: Job }>(path, { body })).job.id);
  };
  return (
    <ActionDialog
      title={`Rebuild ${view}`}
      verb={switchOver ? `Rebuild ${view} and switch over` : `Rebuild ${view} and compare`}
      ready={plan.data !== undefined}
      act={start}
      onClose={onClose}
      extra={
        <CopyCommand
          command={`promethean view rebuild ${shellWord(view)}${switchOver ? "" : " --dry-run"}`}
        />
      }
    >
      <div class="mb-3">
        <Foreseen dry={plan} looking="Looking what there is to take in …">
          {(data) => <Plan {...data} />}
        </Foreseen>
      </div>
      <label class="flex items-start gap-2">
        <input
          type="checkbox"
          class="mt-1 accent-ember-solid"
          checked={switchOver}
          onChange={(event) => setSwitchOver(event.currentTarget.checked)}
        />
        <span>
          Switch readers over when it is done
          <span class="block text-xs text-faint">The old one stays, for a way back.</span>
        </span>
      </label>
    </ActionDialog>
  );
}

function Plan({ topic, events, others }: RebuildPlan) {
  return (
    <p>
      Makes the view anew from <strong>{plural(events, "event")}</strong> of <code class="mono">{topic}</code>
      , beside the one in use, and compares the two.
      {others.length > 0 && (
        <>
          {" "}
          With it {others.length === 1 ? "goes" : "go"} <code class="mono">{others.join(", ")}</code>, which
          the same projector keeps.
        </>
      )}{" "}
      Readers notice nothing.
    </p>
  );
}

function Running(props: { readonly id: string; readonly view: string; readonly onClose: () => void }) {
  const { id, view, onClose } = props;
  return (
    <JobDialog
      id={id}
      titles={{ running: `Rebuilding ${view}…`, over: (state) => `Rebuild of ${view}: ${state}` }}
      onClose={onClose}
      actions={({ result }) =>
        (result as RebuildResult | undefined)?.switched && <RollBack view={view} onDone={onClose} />
      }
    >
      {(job, isOver) => (
        <>
          {!isOver && <Taken progress={job?.progress ?? {}} />}
          {job?.state === "done" && <Differences result={job.result as RebuildResult} />}
        </>
      )}
    </JobDialog>
  );
}

function Taken({ progress }: { readonly progress: Job["progress"] }) {
  const {
    events = 0,
    total = 0,
    etaSeconds,
  } = progress as {
    events?: number;
    total?: number;
    etaSeconds?: number | null;
  };
  return <Progress done={events} total={total} label={etaWords(etaSeconds)} />;
}

/** The way back, for as long as the difference is before one's eyes. */
function RollBack({ view, onDone }: { readonly view: string; readonly onDone: () => void }) {
  const [busy, setBusy] = useState(false);
  const back = async (): Promise<void> => {
    setBusy(true);
    try {
      await call(`/views/${seg(view)}/rollback`, { body: {} });
      toast("good", `${view} is as it was`, "The view that counted before counts again.");
      refreshAll();
      onDone();
    } catch (error) {
      toast("bad", "Could not go back", problemFrom(error).message);
      setBusy(false);
    }
  };
  return (
    <Button kind="danger" busy={busy} onClick={back}>
      Go back to the old view
    </Button>
  );
}

function etaWords(eta: number | null | undefined): string {
  return typeof eta === "number" ? `Events taken in, about ${duration(eta)} to go` : "Events taken in";
}

function Differences({ result }: { readonly result: RebuildResult }) {
  const { same, added, removed, changed, samples, switched, givenUp } = result;
  const differing = added + removed + changed;
  return (
    <>
      <p class="mb-3">
        {differing === 0
          ? same === 1
            ? "The one document came out the same."
            : `All ${count(same)} documents came out the same.`
          : `${count(same)} the same, ${count(changed)} changed, ${count(added)} added, ${count(removed)} gone.`}{" "}
        {switched ? "Readers see the new one." : "The old view stays in use."}
        {givenUp > 0 && ` The new one gave up ${count(givenUp)} events that the old one has.`}
      </p>
      {samples.map(({ key, before, after }) => (
        <div key={key} class="mb-3">
          <p class="mono mb-1">{visible(key)}</p>
          <JsonView value={after} before={before} label={`difference of ${key}`} maxHeight="max-h-56" />
        </div>
      ))}
    </>
  );
}
