/** One event: its payload, where it stands, and the ways on from it. */
import { GitFork, History } from "lucide-preact";
import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { EventRecord } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { CopyButton } from "../../ui/copy.js";
import { count, visible } from "../../ui/format.js";
import { JsonView } from "../../ui/json-view.js";
import { Link, TextLink } from "../../ui/link.js";
import { Moment } from "../../ui/now.js";
import { Facts } from "../../ui/page.js";
import { Panel, PanelPart } from "../../ui/panel.js";
import { closeOver, to } from "../../ui/router.js";
import { Loaded } from "../../ui/states.js";

/** The panel of the event that the address names. */
export function EventPanel({ id }: { readonly id: string }) {
  const live = useLive<EventRecord>(`/events/${seg(id)}`, Number.POSITIVE_INFINITY);
  const event = live.data;
  return (
    <Panel
      key={id}
      label="Event"
      title={<span class="mono">{visible(event?.key ?? id)}</span>}
      onClose={() => closeOver("event")}
      actions={event && <EventWays event={event} />}
    >
      <Loaded live={live}>{(found) => <EventBody event={found} />}</Loaded>
    </Panel>
  );
}

const WAY =
  "inline-flex h-8 items-center gap-1.5 rounded-md border border-line-strong px-3 text-sm whitespace-nowrap hover:bg-raised max-sm:h-10";

function EventWays({ event }: { readonly event: EventRecord }) {
  return (
    <>
      <Link href={to("trace", event.id)} class={WAY}>
        <GitFork size={15} aria-hidden="true" /> Trace causes and effects
      </Link>
      {event.key !== undefined && (
        <Link href={to("topics", event.topic, { tab: "key", key: event.key })} class={WAY}>
          <History size={15} aria-hidden="true" /> History of this key
        </Link>
      )}
    </>
  );
}

export function EventBody({ event }: { readonly event: EventRecord }) {
  const headers = Object.entries(event.headers ?? {});
  return (
    <>
      <PanelPart title="Payload">
        <JsonView value={event.payload} label="payload" />
      </PanelPart>
      <PanelPart title="Event">
        <Facts
          facts={[
            ["Topic", <TextLink href={to("topics", event.topic)}>{event.topic}</TextLink>],
            [
              "Key",
              event.key === undefined ? <span class="text-faint">none</span> : <Copied text={event.key} />,
            ],
            ["Id", <Copied text={event.id} />],
            ["Place", `partition ${event.partition}, seq ${count(event.seq)}`],
            ["Time", <Moment ts={event.ts} />],
            ...causes(event),
            ...(event.tags?.length ? [["Tags", <Tags tags={event.tags} />] as const] : []),
            ...(event.sid === undefined ? [] : [["Session", <Copied text={event.sid} />] as const]),
          ]}
        />
      </PanelPart>
      {headers.length > 0 && (
        <PanelPart title="Headers">
          <Facts
            facts={headers.map(
              ([name, value]) => [name, <span class="mono break-all">{visible(value)}</span>] as const,
            )}
          />
        </PanelPart>
      )}
    </>
  );
}

function causes({ caused_by: by = [] }: EventRecord): (readonly [string, preact.ComponentChildren])[] {
  if (by.length === 0) return [];
  const links = by.map((id) => (
    <TextLink key={id} mono href={to("trace", id)}>
      {id}
    </TextLink>
  ));
  return [["Caused by", <span class="flex flex-col">{links}</span>]];
}

function Tags({ tags }: { readonly tags: readonly string[] }) {
  return (
    <span class="flex min-w-0 flex-wrap gap-1">
      {tags.map((tag) => (
        <Badge key={tag} title={tag}>
          <span class="truncate">{visible(tag)}</span>
        </Badge>
      ))}
    </span>
  );
}

function Copied({ text }: { readonly text: string }) {
  return (
    <span class="flex items-start gap-1">
      <span class="mono break-all">{visible(text)}</span>
      <CopyButton text={text} label="value" />
    </span>
  );
}
