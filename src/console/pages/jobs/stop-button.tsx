/** Ends a job that runs; what it has done stays. */
import { useState } from "preact/hooks";
import { call, seg } from "../../data/api.js";
import { refreshAll } from "../../data/live.js";
import { problemFrom } from "../../data/problem.js";
import { may } from "../../data/session.js";
import type { Job } from "../../data/shapes.js";
import { Button, type ButtonKind } from "../../ui/button.js";
import { toast } from "../../ui/toast.js";

export function StopButton(props: { readonly job: Job; readonly kind?: ButtonKind }) {
  const { id, kind, state, stopping } = props.job;
  const [busy, setBusy] = useState(false);
  if (state !== "running" || !may("ops", kind)) return null;
  const stop = async (): Promise<void> => {
    setBusy(true);
    try {
      await call(`/jobs/${seg(id)}/stop`, { body: {} });
      refreshAll();
    } catch (error) {
      toast("bad", "Could not stop it", problemFrom(error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button kind={props.kind ?? "plain"} busy={busy || stopping === true} onClick={stop}>
      Stop
    </Button>
  );
}
