/** Discarding: for good, with a reason that the audit keeps, and the number repeated before it happens. */
import { useState } from "preact/hooks";
import { call, seg, withQuery } from "../../data/api.js";
import { refreshAll, useFresh } from "../../data/live.js";
import type { Items, Letter } from "../../data/shapes.js";
import { CopyCommand } from "../../ui/copy.js";
import { ActionDialog } from "../../ui/dialog.js";
import { TextField } from "../../ui/fields.js";
import { plural, shellWord } from "../../ui/format.js";
import { toast } from "../../ui/toast.js";
import { choiceFlags, choiceWords, type LetterChoice } from "./letter-choice.js";

export function DiscardDialog(props: {
  readonly topic: string;
  readonly choice: LetterChoice;
  readonly onClose: () => void;
}) {
  const { topic, choice, onClose } = props;
  const [reason, setReason] = useState("");
  const { ids, ...filter } = choice;
  const path = ids === undefined ? withQuery(`/dlq/${seg(topic)}`, { ...filter, limit: 1_000 }) : null;
  const found = useFresh<Items<Letter>>(path).data;
  const n = ids?.length ?? found?.items.length;
  const number =
    n === undefined ? "…" : `${plural(n, "event")}${typeof found?.next === "string" ? " and more" : ""}`;
  const discard = async (): Promise<void> => {
    const { discarded } = await call<{ discarded: number }>(`/dlq/${seg(topic)}/discard`, {
      body: { ...choice, reason },
    });
    toast("good", `Discarded ${plural(discarded, "event")}`, `of ${topic}: ${reason}`);
    refreshAll();
    onClose();
  };
  return (
    <ActionDialog
      title="Discard dead letters"
      verb={`Discard ${number}`}
      kind="danger"
      ready={reason.trim() !== "" && n !== undefined && n > 0}
      act={discard}
      onClose={onClose}
      extra={
        <CopyCommand
          command={`promethean dlq discard ${shellWord(topic)}${choiceFlags(choice)} --reason ${shellWord(reason === "" ? "why" : reason)} --dry-run`}
        />
      }
    >
      <p class="mb-3">
        Takes {choiceWords(choice)} of <code class="mono">{topic}</code> out of the open ones:{" "}
        <strong>{number}</strong>.{" "}
        {n === 1
          ? "It stays readable until retention takes it, but nobody will be asked about it again."
          : "They stay readable until retention takes them, but nobody will be asked about them again."}
      </p>
      <TextField
        label="Reason"
        value={reason}
        onInput={setReason}
        hint="Kept in the audit log with your name."
      />
    </ActionDialog>
  );
}
