/** Publishing by hand: the payload is checked as one types, against JSON and against the topic's schema. */
import { useMemo, useState } from "preact/hooks";
import { refreshAll } from "../../data/live.js";
import { usePublish } from "../../data/publish.js";
import { CopyCommand } from "../../ui/copy.js";
import { ActionDialog } from "../../ui/dialog.js";
import { JsonField, TextField } from "../../ui/fields.js";
import { shellArguments, shellWord } from "../../ui/format.js";
import { toast } from "../../ui/toast.js";
import { exampleOf, type SchemaIssue, violations } from "./schema-check.js";

export function PublishDialog(props: {
  readonly topic: string;
  readonly schema: unknown;
  readonly onClose: () => void;
}) {
  const { topic, schema, onClose } = props;
  const [text, setText] = useState(() =>
    JSON.stringify(schema === undefined ? {} : exampleOf(schema), null, 2),
  );
  const [key, setKey] = useState("");
  const [headers, setHeaders] = useState("");
  const send = usePublish();
  const payload = useMemo(() => parsed(text), [text]);
  const issues = useMemo(
    () => (payload.ok && schema !== undefined ? violations(schema, payload.value) : []),
    [payload, schema],
  );
  const headerLines = headers.split("\n").filter((line) => line.trim() !== "");
  const badHeader = headerLines.find((line) => !/^[^:\s]+:/.test(line));
  const publish = async (): Promise<void> => {
    const { partition, seq } = await send({
      topic,
      payload: payload.value,
      ...(key !== "" && { key }),
      ...(headerLines.length > 0 && { headers: headersOf(headerLines) }),
    });
    toast("good", "Published", `${topic}, partition ${partition}, seq ${seq}`);
    refreshAll();
    onClose();
  };
  return (
    <ActionDialog
      wide
      title={`Publish to ${topic}`}
      verb="Publish event"
      ready={payload.ok && issues.length === 0 && badHeader === undefined}
      act={publish}
      onClose={onClose}
      extra={
        <CopyCommand command={commandOf(topic, text, key, badHeader === undefined ? headerLines : [])} />
      }
    >
      <div class="flex flex-col gap-4">
        <JsonField
          label="Payload (JSON)"
          value={text}
          onInput={setText}
          rows={12}
          wrong={payload.ok ? undefined : payload.why}
          hint={
            schema === undefined
              ? "This topic has no schema: any JSON goes."
              : "Checked against the newest schema."
          }
        />
        <Issues issues={issues} />
        <div class="grid gap-4 sm:grid-cols-2">
          <TextField label="Key" mono value={key} onInput={setKey} hint="Events of one key stay in order." />
          <JsonField
            label="Headers"
            rows={2}
            value={headers}
            onInput={setHeaders}
            wrong={
              badHeader === undefined ? undefined : `Write name: value, not "${badHeader.slice(0, 40)}".`
            }
            hint="One a line, as name: value."
          />
        </div>
      </div>
    </ActionDialog>
  );
}

export function Issues({ issues }: { readonly issues: readonly SchemaIssue[] }) {
  if (issues.length === 0) return null;
  return (
    <ul role="alert" class="rounded-md bg-bad-wash px-3 py-2 text-sm text-bad">
      {issues.slice(0, 8).map(({ path, message }) => (
        <li key={`${path} ${message}`}>
          <code class="mono">{path === "" ? "payload" : path}</code> {message}
        </li>
      ))}
    </ul>
  );
}

type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly why: string; readonly value?: never };

export function parsed(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    return { ok: false, why: `Not JSON: ${(error as Error).message}` };
  }
}

function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

function commandOf(topic: string, text: string, key: string, headerLines: readonly string[]): string {
  const payload = parsed(text);
  const json = payload.ok ? JSON.stringify(payload.value) : text;
  const headers = Object.entries(headersOf(headerLines)).map(([name, value]) => `${name}=${value}`);
  const options = [
    ...(key === "" ? [] : ["--key", shellWord(key)]),
    ...headers.flatMap((header) => ["--header", shellWord(header)]),
  ];
  return ["promethean publish", ...options, shellArguments(topic, json)].join(" ");
}
