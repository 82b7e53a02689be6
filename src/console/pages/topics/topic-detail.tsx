/** One topic: what is in it, what comes, who reads it, and a form to publish. */

import { Send, Trash2 } from "lucide-preact";
import { useState } from "preact/hooks";
import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import { may } from "../../data/session.js";
import type { TopicDetail, TopicSchemas } from "../../data/shapes.js";
import { rings, useStats } from "../../data/stats.js";
import { isFarBehind, mayBeBehind, topicRing } from "../../data/stats-past.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { bytes, count, lagText, rate, shellWord, si } from "../../ui/format.js";
import { Figure, PageHead, Section, type Tab, TabPanel, Tabs, useTab } from "../../ui/page.js";
import { query, to } from "../../ui/router.js";
import { Sparkline } from "../../ui/sparkline.js";
import { Loaded } from "../../ui/states.js";
import { EventPanel } from "../events/event-panel.js";
import { Browse } from "./browse.js";
import { KeyHistory } from "./key-history.js";
import { PartitionsPicture } from "./partitions-picture.js";
import { PublishDialog } from "./publish-dialog.js";
import { RemoveDialog } from "./remove-dialog.js";
import { TailView } from "./tail-view.js";
import { TopicGroups } from "./topic-groups.js";
import { TopicBadges } from "./topic-list.js";

const TABS: readonly Tab[] = [
  { id: "browse", label: "Events" },
  { id: "tail", label: "Live tail" },
  { id: "key", label: "History of a key" },
  { id: "partitions", label: "Partitions" },
  { id: "groups", label: "Groups" },
];

export function TopicDetailPage({ topic }: { readonly topic: string }) {
  const live = useLive<TopicDetail>(`/topics/${seg(topic)}`, 2_000);
  const schemas = useLive<TopicSchemas>(`/schemas/${seg(topic)}`, 30_000).data;
  const [publishing, setPublishing] = useState(false);
  const [removing, setRemoving] = useState(false);
  const tab = useTab(TABS);
  const event = query("event");
  const latest = schemas?.versions.at(-1);
  return (
    <>
      <PageHead
        title={topic}
        mono
        crumbs={[{ label: "Topics", href: to("topics") }]}
        badges={live.data && <TopicBadges topic={live.data.config} schema={latest} />}
        actions={
          <>
            <CopyCommand command={`promethean tail ${shellWord(topic)}`} />
            {live.data !== undefined && may("ops", "remove") && (
              <Button icon={Trash2} onClick={() => setRemoving(true)}>
                Remove
              </Button>
            )}
            {may("publish", topic) && (
              <Button kind="primary" icon={Send} onClick={() => setPublishing(true)}>
                Publish event
              </Button>
            )}
          </>
        }
      />
      <Loaded live={live} rows={10}>
        {(detail) => (
          <>
            <TopicFigures detail={detail} />
            <Tabs tabs={TABS} />
            <TabPanel tab={tab}>
              {tab === "browse" && <Browse detail={detail} />}
              {tab === "tail" && <TailView topic={topic} partitions={detail.config.partitions} />}
              {tab === "key" && <KeyHistory detail={detail} />}
              {tab === "partitions" && (
                <Section title="Partitions" note="from the lowest kept event to the newest; ticks are groups">
                  <PartitionsPicture detail={detail} />
                </Section>
              )}
              {tab === "groups" && <TopicGroups topic={topic} />}
            </TabPanel>
          </>
        )}
      </Loaded>
      {event !== null && <EventPanel id={event} />}
      {publishing && (
        <PublishDialog topic={topic} schema={latest?.schema} onClose={() => setPublishing(false)} />
      )}
      {removing && <RemoveDialog topic={topic} onClose={() => setRemoving(false)} />}
    </>
  );
}

function TopicFigures({ detail }: { readonly detail: TopicDetail }) {
  const stats = useStats()?.topics.find(({ topic }) => topic === detail.name);
  const [behind] = detail.groups.filter((one) => !mayBeBehind(one)).sort((a, b) => b.lag - a.lag);
  return (
    <div class="mb-5 grid grid-cols-2 gap-4 md:grid-cols-4">
      <Figure
        name="Published"
        value={stats === undefined ? "–" : rate(stats.publishedPerSecond)}
        detail="right now"
      >
        <Sparkline values={rings.of(topicRing(detail.name))} color="published" width={80} />
      </Figure>
      <Figure
        name="Events"
        value={si(detail.events)}
        detail={`in ${count(detail.partitions.length)} partition${detail.partitions.length === 1 ? "" : "s"}`}
      />
      <Figure name="Size" value={bytes(detail.bytes)} detail={sizeEach(detail)} />
      <Figure
        name="Groups"
        value={count(detail.groups.length)}
        tone={behind !== undefined && isFarBehind(behind) ? "warn" : undefined}
        detail={
          detail.groups.length === 0
            ? "nobody reads it"
            : behind === undefined || behind.lag === 0
              ? "all up to date"
              : `${behind.group}: ${lagText(behind)}`
        }
      />
    </div>
  );
}

function sizeEach({ events, bytes: size }: TopicDetail): string {
  return events === 0 ? "" : `${bytes(size / events)} an event`;
}
