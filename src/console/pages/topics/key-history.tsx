/** The history of a key: its events, newest first, each against the one before. */
import { useState } from "preact/hooks";
import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { EventRecord, Items, TopicDetail } from "../../data/shapes.js";
import { FilterBox } from "../../ui/fields.js";
import { count, newest } from "../../ui/format.js";
import { JsonView } from "../../ui/json-view.js";
import { Ago, Moment } from "../../ui/now.js";
import { Section } from "../../ui/page.js";
import { openOver, query } from "../../ui/router.js";
import { Empty, Loaded } from "../../ui/states.js";
import { pageSize } from "./page-size.js";

const LIMIT = 50;

export function KeyHistory({ detail }: { readonly detail: TopicDetail }) {
  const key = query("key");
  const [limit] = useState(() => pageSize(detail, LIMIT));
  const path = key === null ? null : `/topics/${seg(detail.name)}/keys?key=${seg(key)}&limit=${limit}`;
  const live = useLive<Items<EventRecord>>(path, 5_000);
  return (
    <Section>
      <div class="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
        <FilterBox name="key" placeholder="Key" />
        {live.data && (
          <span class="text-xs text-faint">{newest(live.data.items.length, limit, "event")}</span>
        )}
      </div>
      {key === null ? (
        <Empty title="Which key?">Type a key to see what happened to it, event by event.</Empty>
      ) : (
        <Loaded live={live}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No events of this key">Keys are compared letter by letter.</Empty>
            ) : (
              <ol class="divide-y divide-line">
                {items.map((event, i) => (
                  <Step key={event.id} event={event} before={items[i + 1]} />
                ))}
              </ol>
            )
          }
        </Loaded>
      )}
    </Section>
  );
}

function Step({ event, before }: { readonly event: EventRecord; readonly before: EventRecord | undefined }) {
  return (
    <li class="grid gap-x-6 gap-y-2 px-4 py-3 md:grid-cols-[15.5rem_1fr]">
      <div class="flex flex-col items-start gap-1 text-sm">
        <Moment ts={event.ts} />
        <span class="text-xs text-faint">
          <Ago ts={event.ts} />, partition {event.partition}, seq {count(event.seq)}
        </span>
        <button
          type="button"
          class="rounded-sm text-sm underline decoration-line-strong underline-offset-2 hover:decoration-ember max-sm:py-2.5"
          onClick={() => openOver("event", event.id)}
        >
          Open event
        </button>
      </div>
      {before === undefined ? (
        <JsonView value={event.payload} label={`payload of seq ${event.seq}`} />
      ) : (
        <JsonView
          value={event.payload}
          before={before.payload}
          label={`payload of seq ${event.seq}, against the event before`}
        />
      )}
    </li>
  );
}
