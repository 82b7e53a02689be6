/** Pausing a group asks first: nothing is handled until somebody resumes it. Going on does not. */
import { Play } from "lucide-preact";
import { useState } from "preact/hooks";
import { call, seg } from "../../data/api.js";
import { refreshAll } from "../../data/live.js";
import { problemFrom } from "../../data/problem.js";
import type { GroupLag } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { ActionDialog } from "../../ui/dialog.js";
import { plural } from "../../ui/format.js";
import { toast } from "../../ui/toast.js";

type Ref = Pick<GroupLag, "group" | "topic" | "lag">;

async function tell({ group, topic }: Ref, verb: "pause" | "resume"): Promise<void> {
  await call(`/groups/${seg(group)}/${verb}`, { body: { topic } });
  toast("good", `${group} is ${verb === "pause" ? "paused" : "going on"}`, `on ${topic}`);
  refreshAll();
}

export function PauseDialog({ group: ref, onClose }: { readonly group: Ref; readonly onClose: () => void }) {
  const { group, topic, lag } = ref;
  const pause = async (): Promise<void> => {
    await tell(ref, "pause");
    onClose();
  };
  return (
    <ActionDialog title={`Pause ${group}`} verb={`Pause ${group} on ${topic}`} act={pause} onClose={onClose}>
      <p>
        Its subscribers, in every process, get no more events of <code class="mono">{topic}</code> until
        somebody resumes it. {plural(lag, "event")} {lag === 1 ? "waits" : "wait"} now; nothing is lost, and
        other groups go on.
      </p>
    </ActionDialog>
  );
}

export function ResumeButton({ group }: { readonly group: Ref }) {
  const [busy, setBusy] = useState(false);
  const resume = async (): Promise<void> => {
    setBusy(true);
    try {
      await tell(group, "resume");
    } catch (error) {
      toast("bad", `Could not resume ${group.group}`, problemFrom(error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button kind="primary" icon={Play} busy={busy} onClick={resume}>
      Resume
    </Button>
  );
}
