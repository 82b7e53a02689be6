/** A job that was just started: its progress, a way to stop it, and how it ended. It goes on if one closes this. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { seg } from "../../data/api.js";
import { refreshAll, useLive } from "../../data/live.js";
import type { Job } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { Dialog } from "../../ui/dialog.js";
import { sentence } from "../../ui/states.js";
import { StopButton } from "./stop-button.js";

export function JobDialog(props: {
  readonly id: string;
  readonly onClose: () => void;
  /** What it is called while it runs, and when it is over. */
  readonly titles: { readonly running: string; readonly over: (state: Job["state"]) => string };
  /** Once, when it is done. */
  readonly onDone?: (job: Job) => void;
  /** Beside "Done". */
  readonly actions?: (job: Job) => ComponentChildren;
  readonly children: (job: Job | undefined, isOver: boolean) => ComponentChildren;
}) {
  const { id, onClose, titles, onDone, actions, children } = props;
  // It is waited for, also while live updates are off.
  const { data: job, problem } = useLive<Job>(`/jobs/${seg(id)}`, 700, { always: true });
  const isOver = job !== undefined && job.state !== "running";
  useEffect(() => {
    if (!isOver) return;
    refreshAll();
    if (job.state === "done") onDone?.(job);
  }, [isOver]);
  return (
    <Dialog
      wide
      title={isOver ? titles.over(job.state) : titles.running}
      onClose={onClose}
      footer={
        <>
          {job !== undefined && <StopButton job={job} />}
          {isOver && actions?.(job)}
          <Button kind="primary" onClick={onClose}>
            {isOver ? "Done" : "Go on in the background"}
          </Button>
        </>
      }
    >
      <div data-job={job?.state}>{children(job, isOver)}</div>
      {job?.error !== undefined && <p class="mt-3 text-bad">{sentence(job.error.detail)}</p>}
      {problem !== undefined && (
        <p role="alert" class="mt-3 text-warn">
          How it goes cannot be said now: {sentence(problem.message)}
        </p>
      )}
    </Dialog>
  );
}
