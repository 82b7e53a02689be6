/** One document: as it is, as it was at any time, what changed, and the event that made it so. */
import { GitFork, History } from "lucide-preact";
import { seg } from "../../data/api.js";
import { type Live, useLive } from "../../data/live.js";
import type { EventRecord, Items, ViewInfo, ViewRecord } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { CopyCommand } from "../../ui/copy.js";
import { count, newest, shellArguments, visible } from "../../ui/format.js";
import { JsonView } from "../../ui/json-view.js";
import { Link } from "../../ui/link.js";
import { Ago, Moment } from "../../ui/now.js";
import { Facts, PageHead, Section } from "../../ui/page.js";
import { query, setQuery, to } from "../../ui/router.js";
import { Empty, Failure, Loaded, Waiting } from "../../ui/states.js";
import { ChangeList } from "./change-list.js";
import { TimeSlider } from "./time-slider.js";

const LIMIT = 200;

interface DocumentProps {
  readonly view: string;
  readonly documentKey: string;
}

export function DocumentPage({ view, documentKey: key }: DocumentProps) {
  const path = `/snap/${seg(view)}?key=${seg(key)}`;
  const present = useLive<ViewRecord>(path, 3_000);
  const views = useLive<Items<ViewInfo>>("/views", 30_000);
  const topic = views.data?.items.find((one) => one.view === view)?.topic;
  const history = useLive<Items<EventRecord>>(
    topic == null ? null : `/topics/${seg(topic)}/keys?key=${seg(key)}&limit=${LIMIT}`,
    3_000,
  );
  const isComing = isOnItsWay(views) || (topic != null && isOnItsWay(history));
  const changes = [...(history.data?.items ?? [])].reverse();
  const at = query("at") === null ? null : Number(query("at"));
  return (
    <>
      <PageHead
        title={visible(key) || '""'}
        mono
        crumbs={[
          { label: "Views", href: to("views") },
          { label: view, href: to("views", view) },
        ]}
        badges={at === null ? <Badge tone="ember">now</Badge> : <Badge tone="info">in the past</Badge>}
        actions={
          <CopyCommand
            command={`promethean view get ${at === null ? "" : `--at ${at} `}${shellArguments(view, key)}`}
          />
        }
      />
      <div class="grid items-start gap-4 lg:grid-cols-[1fr_20rem]">
        <Section title="Document" note={at === null ? "as it is now" : <Moment ts={at} />}>
          {at === null ? <Present live={present} /> : <Past path={path} at={at} changes={changes} />}
          {changes.length > 0 && <TimeSlider changes={changes} at={at} onAt={(ts) => setQuery({ at: ts })} />}
        </Section>
        <div class="flex flex-col gap-4">
          <Source present={present.data} changes={changes} at={at} />
          <Section
            title="Changes"
            note={changes.length > 0 ? newest(changes.length, LIMIT, "change") : undefined}
          >
            {isComing ? (
              <Waiting rows={3} problem={views.problem ?? history.problem} />
            ) : (
              <ChangeList changes={changes} at={at} onAt={(ts) => setQuery({ at: ts })} />
            )}
          </Section>
        </div>
      </div>
    </>
  );
}

function isOnItsWay({ data, problem }: Live<unknown>): boolean {
  return data === undefined && problem?.isOffline !== false;
}

function Present({ live }: { readonly live: ReturnType<typeof useLive<ViewRecord>> }) {
  if (live.problem?.status === 404)
    return <Empty title="It is not there now">The key was never written, or has been deleted.</Empty>;
  return (
    <Loaded live={live}>
      {(document) => (
        <div class="p-4">
          <JsonView value={fieldsOf(document)} label="fields of the document" />
        </div>
      )}
    </Loaded>
  );
}

/** The document then, against what the change before had made of it. */
function Past(props: {
  readonly path: string;
  readonly at: number;
  readonly changes: readonly EventRecord[];
}) {
  const { path, at, changes } = props;
  const now = useLive<ViewRecord>(`${path}&at=${at}`, Number.POSITIVE_INFINITY);
  const earlier = changes.filter(({ ts }) => ts <= at);
  const beforeMs = earlier.at(-2)?.ts;
  const before = useLive<ViewRecord>(
    beforeMs === undefined ? null : `${path}&at=${beforeMs}`,
    Number.POSITIVE_INFINITY,
  );
  if (now.problem?.status === 404)
    return <Empty title="It was not there then">It came later, or was deleted at that time.</Empty>;
  if (now.problem !== undefined && !now.problem.isOffline) return <Failure problem={now.problem} />;
  if (now.data === undefined) return <Waiting problem={now.problem} />;
  const value = fieldsOf(now.data);
  return (
    <div class="p-4">
      {before.data === undefined ? (
        <JsonView value={value} label="document then" />
      ) : (
        <JsonView
          value={value}
          before={fieldsOf(before.data)}
          label="document then, against the change before"
        />
      )}
    </div>
  );
}

function Source(props: {
  readonly present: ViewRecord | undefined;
  readonly changes: readonly EventRecord[];
  readonly at: number | null;
}) {
  const { present, changes, at } = props;
  const event = at === null ? changes.at(-1) : changes.filter(({ ts }) => ts <= at).at(-1);
  if (event === undefined && present === undefined) return null;
  return (
    <Section title="Source">
      <div class="p-4">
        <Facts
          facts={[
            ...(present !== undefined && at === null ? [["Version", count(present._v)] as const] : []),
            ...(event === undefined
              ? []
              : [
                  ["Changed", <Ago ts={event.ts} />] as const,
                  ["Place", `${event.topic} ${event.partition}:${event.seq}`] as const,
                ]),
          ]}
        />
        {event !== undefined && (
          <div class="mt-3 flex flex-wrap gap-2">
            <Link href={to("trace", event.id)} class={WAY}>
              <GitFork size={15} aria-hidden="true" /> Trace
            </Link>
            <Link href={to("topics", event.topic, { tab: "key", key: event.key })} class={WAY}>
              <History size={15} aria-hidden="true" /> Events
            </Link>
          </div>
        )}
      </div>
    </Section>
  );
}

const WAY =
  "inline-flex h-8 items-center gap-1.5 rounded-md border border-line-strong px-3 text-sm whitespace-nowrap hover:bg-raised max-sm:h-10";

function fieldsOf(record: ViewRecord): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !["_key", "_v", "_ts"].includes(name)));
}
