/** One dead letter: the error, the payload as it was, and its two ways out. */
import { PencilLine, RotateCcw, Trash2 } from "lucide-preact";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import { may } from "../../data/session.js";
import type { Letter } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { Button } from "../../ui/button.js";
import { CopyButton, CopyCommand } from "../../ui/copy.js";
import { count, shellWord, visible } from "../../ui/format.js";
import { JsonView } from "../../ui/json-view.js";
import { TextLink } from "../../ui/link.js";
import { Moment } from "../../ui/now.js";
import { Facts } from "../../ui/page.js";
import { Panel, PanelPart } from "../../ui/panel.js";
import { closeOver, to } from "../../ui/router.js";
import { Loaded } from "../../ui/states.js";
import { DiscardDialog } from "./discard-dialog.js";
import { EditDialog } from "./edit-dialog.js";
import { RedriveDialog } from "./redrive-dialog.js";

export function LetterPanel({ topic, id }: { readonly topic: string; readonly id: string }) {
  const live = useLive<Letter>(`/dlq/${seg(topic)}/${seg(id)}`, 4_000);
  const letter = live.data;
  return (
    <Panel
      key={id}
      label="Dead letter"
      title={<span class="mono">{visible(letter?.key ?? id)}</span>}
      onClose={() => closeOver("letter")}
      actions={letter?.status === "open" && <Actions topic={topic} letter={letter} />}
    >
      <Loaded live={live}>{(found) => <LetterBody letter={found} topic={topic} />}</Loaded>
    </Panel>
  );
}

function Actions({ topic, letter }: { readonly topic: string; readonly letter: Letter }) {
  const [open, setOpen] = useState<"redrive" | "edit" | "discard" | null>(null);
  const close = (): void => setOpen(null);
  const choice = { ids: [letter.id] };
  return (
    <>
      {may("ops", "redrive") && (
        <Button kind="primary" icon={RotateCcw} onClick={() => setOpen("redrive")}>
          Redrive
        </Button>
      )}
      {may("publish", topic) && may("ops", "discard") && (
        <Button icon={PencilLine} onClick={() => setOpen("edit")}>
          Edit and retry
        </Button>
      )}
      {may("ops", "discard") && (
        <Button icon={Trash2} onClick={() => setOpen("discard")}>
          Discard
        </Button>
      )}
      {open === "redrive" && <RedriveDialog topic={topic} choice={choice} onClose={close} />}
      {open === "edit" && <EditDialog topic={topic} letter={letter} onClose={close} />}
      {open === "discard" && <DiscardDialog topic={topic} choice={choice} onClose={close} />}
    </>
  );
}

function LetterBody({ letter, topic }: { readonly letter: Letter; readonly topic: string }) {
  const { error, origin, event, attempts } = letter;
  return (
    <>
      <PanelPart
        title="Error"
        actions={<CopyCommand short command={`promethean dlq show ${shellWord(topic)} ${letter.id}`} />}
      >
        <p class="mb-2 rounded-md bg-bad-wash px-3 py-2 text-sm wrap-anywhere text-bad">
          {error.code ?? error.name ?? "Error"}: {visible(error.message.trim())}
        </p>
        {error.stack !== undefined && (
          <details class="text-sm">
            <summary class="cursor-pointer text-soft">Stack</summary>
            <pre class="mono mt-1 max-h-64 overflow-auto rounded-md border border-line bg-sunken p-3 text-xs">
              {error.stack}
            </pre>
          </details>
        )}
      </PanelPart>
      <PanelPart title="Payload">
        <JsonView value={event.payload} label="payload" />
      </PanelPart>
      <PanelPart title="Origin">
        <Facts
          facts={[
            [
              "Group",
              <TextLink href={to("groups", origin.group, { topic: origin.topic })}>{origin.group}</TextLink>,
            ],
            ["Given up", <Moment ts={letter.ts} />],
            ["After", `${count(attempts)} ${attempts === 1 ? "try" : "tries"}`],
            ["Key", <span class="mono break-all">{visible(letter.key ?? "–")}</span>],
            ["Place", `partition ${origin.partition}, seq ${count(origin.seq)}`],
            [
              "Event",
              <span class="flex items-start gap-1">
                <TextLink mono href={to("trace", origin.id)}>
                  {origin.id}
                </TextLink>
                <CopyButton text={origin.id} label="event id" />
              </span>,
            ],
            ["Status", <Badge>{letter.status}</Badge>],
            ...outcomeOf(letter),
          ]}
        />
      </PanelPart>
      {event.headers !== undefined && Object.keys(event.headers).length > 0 && (
        <PanelPart title="Headers">
          <Facts
            facts={Object.entries(event.headers).map(
              ([name, value]) => [name, <span class="mono break-all">{visible(value)}</span>] as const,
            )}
          />
        </PanelPart>
      )}
    </>
  );
}

/** What became of it: the event that it came back as, or why it was discarded. */
function outcomeOf({ status, outcome }: Letter): (readonly [string, ComponentChildren])[] {
  if (outcome === undefined) return [];
  if (status !== "redriven") return [["Reason", visible(outcome)]];
  const again = (
    <TextLink mono href={to("trace", outcome)}>
      {outcome}
    </TextLink>
  );
  return [["Redriven as", again]];
}
