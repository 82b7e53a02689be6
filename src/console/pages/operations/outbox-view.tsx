/** The outbox: what waits to be published, and what could not be. */
import { RotateCcw } from "lucide-preact";
import { useState } from "preact/hooks";
import { call } from "../../data/api.js";
import { refreshAll, useLive } from "../../data/live.js";
import type { Items, Outbox } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { ActionDialog } from "../../ui/dialog.js";
import { ago, count, oneLine, plural, visible } from "../../ui/format.js";
import { Ago, now } from "../../ui/now.js";
import { Figure, Section } from "../../ui/page.js";
import { Empty, Loaded } from "../../ui/states.js";
import { type Column, Table } from "../../ui/table.js";
import { toast } from "../../ui/toast.js";

interface Entry {
  readonly id: string;
  readonly topic: string;
  readonly key?: string;
  readonly payload: unknown;
  readonly failures: number;
  readonly error?: string;
  readonly addedMs: number;
}

export function OutboxView() {
  const live = useLive<Outbox & Items<Entry>>("/outbox?status=dead&limit=200", 3_000);
  const [asking, setAsking] = useState(false);
  return (
    <Loaded live={live}>
      {(outbox) => (
        <div class="flex flex-col gap-4">
          <div class="grid grid-cols-2 gap-4 md:grid-cols-4">
            <Figure
              name="Waiting"
              value={count(outbox.pending)}
              detail={
                outbox.oldestMs === null ? "nothing waits" : `oldest ${ago(outbox.oldestMs, now.value)}`
              }
            />
            <Figure name="On their way" value={count(outbox.claimed)} detail="taken by a drainer" />
            <Figure name="Sent" value={count(outbox.sent)} detail="and not yet purged" />
            <Figure
              name="Dead"
              value={count(outbox.dead)}
              detail={outbox.dead === 0 ? "none gave up" : "block their keys"}
              tone={outbox.dead > 0 ? "bad" : undefined}
            />
          </div>
          <Section
            title="Dead entries"
            actions={
              <>
                <CopyCommand command="promethean outbox status" />
                {outbox.dead > 0 && (
                  <Button icon={RotateCcw} onClick={() => setAsking(true)}>
                    Try all again…
                  </Button>
                )}
              </>
            }
          >
            <Table
              name="outbox"
              columns={COLUMNS}
              rows={outbox.items}
              rowKey={({ id }) => id}
              empty={
                <Empty title="No dead entries">
                  Entries that could not be published come here after their last try.
                </Empty>
              }
            />
          </Section>
          {asking && <RequeueDialog dead={outbox.dead} onClose={() => setAsking(false)} />}
        </div>
      )}
    </Loaded>
  );
}

function RequeueDialog({ dead, onClose }: { readonly dead: number; readonly onClose: () => void }) {
  const requeue = async (): Promise<void> => {
    const { requeued } = await call<{ requeued: number }>("/outbox/requeue", { body: {} });
    toast("good", `${plural(requeued, "entry").replace("entrys", "entries")} will be tried again`);
    refreshAll();
    onClose();
  };
  return (
    <ActionDialog
      title="Try dead entries again"
      verb={`Try ${count(dead)} again`}
      act={requeue}
      onClose={onClose}
    >
      <p>
        {dead === 1 ? "The dead entry becomes" : `All ${count(dead)} dead entries become`} pending, with no
        failures counted, in order of their keys.
      </p>
    </ActionDialog>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  { id: "topic", head: "Topic", cell: ({ topic }) => topic },
  { id: "key", head: "Key", cell: ({ key }) => <span class="mono">{visible(key ?? "–")}</span> },
  { id: "error", head: "Error", grow: true, cell: ({ error, payload }) => oneLine(error ?? payload) },
  { id: "failures", head: "Failures", align: "right", cell: ({ failures }) => count(failures) },
  { id: "added", head: "Added", align: "right", cell: ({ addedMs }) => <Ago ts={addedMs} /> },
];
