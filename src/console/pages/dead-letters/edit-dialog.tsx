/**
 * Mending a letter: publishes a corrected payload for the group that gave it up, names the old event as its cause, and
 * closes the letter. In this order, so that a break in between leaves the letter open rather than lost; whoever then tries again
 * publishes nothing twice.
 */
import { useMemo, useState } from "preact/hooks";
import { call, seg } from "../../data/api.js";
import { refreshAll, useLive } from "../../data/live.js";
import { usePublish } from "../../data/publish.js";
import type { Letter, TopicSchemas } from "../../data/shapes.js";
import { ActionDialog } from "../../ui/dialog.js";
import { JsonField } from "../../ui/fields.js";
import { JsonView } from "../../ui/json-view.js";
import { toast } from "../../ui/toast.js";
import { Issues, parsed } from "../topics/publish-dialog.js";
import { violations } from "../topics/schema-check.js";

export function EditDialog(props: {
  readonly topic: string;
  readonly letter: Letter;
  readonly onClose: () => void;
}) {
  const { topic, letter, onClose } = props;
  const [text, setText] = useState(() => JSON.stringify(letter.event.payload, null, 2));
  const schema = useLive<TopicSchemas>(`/schemas/${seg(topic)}`, 60_000).data?.versions.at(-1)?.schema;
  const send = usePublish();
  const payload = useMemo(() => parsed(text), [text]);
  const issues = useMemo(
    () => (payload.ok && schema !== undefined ? violations(schema, payload.value) : []),
    [payload, schema],
  );
  const retry = async (): Promise<void> => {
    const { origin, key, event } = letter;
    const { "x-schema-version": _, ...headers } = event.headers ?? {};
    const published = await send({
      topic,
      payload: payload.value,
      ...(key !== undefined && { key }),
      headers: { ...headers, "x-redrive-group": origin.group },
      caused_by: [origin.id],
    });
    await call(`/dlq/${seg(topic)}/discard`, {
      body: { ids: [letter.id], reason: `edited and published again as ${published.id}` },
    });
    toast("good", "Published the corrected event", `to ${topic}, for ${origin.group}`);
    refreshAll();
    onClose();
  };
  return (
    <ActionDialog
      wide
      title="Edit and retry"
      verb={`Publish to ${topic} for ${letter.origin.group}`}
      ready={payload.ok && issues.length === 0}
      act={retry}
      onClose={onClose}
    >
      <div class="grid gap-4 md:grid-cols-2">
        <JsonField
          label="Payload (JSON)"
          rows={16}
          value={text}
          onInput={setText}
          wrong={payload.ok ? undefined : payload.why}
        />
        <div class="min-w-0">
          <p class="label mb-1">What changes</p>
          <JsonView
            value={payload.ok ? payload.value : letter.event.payload}
            before={letter.event.payload}
            label="difference"
            maxHeight="max-h-86"
          />
        </div>
      </div>
      <div class="mt-3">
        <Issues issues={issues} />
      </div>
    </ActionDialog>
  );
}
