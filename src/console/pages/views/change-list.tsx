/** The changes of a document, newest first: when, and which fields. */
import type { EventRecord } from "../../data/shapes.js";
import { changedMembers } from "../../ui/json-lines.js";
import { Ago } from "../../ui/now.js";
import { Empty } from "../../ui/states.js";

interface ChangeListProps {
  readonly changes: readonly EventRecord[];
  readonly at: number | null;
  readonly onAt: (ts: number) => void;
}

const SHOWN = 40;

export function ChangeList({ changes, at, onAt }: ChangeListProps) {
  if (changes.length === 0)
    return (
      <Empty title="No history to show">
        The events of this key are not known: the view is made by a projector of its own, or retention took
        them.
      </Empty>
    );
  const standing = at === null ? changes.at(-1) : changes.filter(({ ts }) => ts <= at).at(-1);
  return (
    <ol class="max-h-96 overflow-y-auto py-1">
      {changes
        .map((event, i) => ({ event, before: changes[i - 1] }))
        .reverse()
        .slice(0, SHOWN)
        .map(({ event, before }) => (
          <li key={event.id}>
            <button
              type="button"
              aria-current={event === standing ? "true" : undefined}
              onClick={() => onAt(event.ts)}
              class={`flex w-full items-baseline gap-2 px-4 py-1.5 text-left text-sm hover:bg-sunken max-sm:py-3 ${event === standing ? "bg-ember-wash" : ""}`}
            >
              <span class="min-w-0 flex-1 truncate">{words(event, before)}</span>
              <span class="shrink-0 text-xs text-faint">
                <Ago ts={event.ts} />
              </span>
            </button>
          </li>
        ))}
    </ol>
  );
}

function words(event: EventRecord, before: EventRecord | undefined): string {
  if (event.payload === null) return "deleted";
  if (before === undefined) return "first kept change";
  const changed = changedMembers(asObject(before.payload), asObject(event.payload));
  return changed.length === 0 ? "nothing but its version" : changed.join(", ");
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
}
