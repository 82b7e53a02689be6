/** One group on one of its topics: how far, who owns what, what holds it up, and what can be done about it. */
import { ListChecks, MoveHorizontal, Pause, TriangleAlert } from "lucide-preact";
import { useRef, useState } from "preact/hooks";
import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import { may } from "../../data/session.js";
import type { GroupDetail, GroupLag, Why } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { SelectField } from "../../ui/fields.js";
import { shellWord } from "../../ui/format.js";
import { TextLink } from "../../ui/link.js";
import { PageHead, Section } from "../../ui/page.js";
import { query, setQuery, to } from "../../ui/router.js";
import { Loaded, Waiting } from "../../ui/states.js";
import { GroupState } from "./group-columns.js";
import { GroupFigures } from "./group-figures.js";
import { LagChart, linesWords } from "./lag-chart.js";
import { MoveDialog } from "./move-dialog.js";
import { PartitionMap } from "./partition-map.js";
import { PauseDialog, ResumeButton } from "./pausing.js";
import { VerifyDialog } from "./verify-dialog.js";
import { useWhy, WhySection } from "./why-section.js";

export function GroupDetailPage({ group }: { readonly group: string }) {
  const live = useLive<GroupDetail>(`/groups/${seg(group)}`, 2_000);
  const topics = live.data?.topics ?? [];
  const shown = useRef<string | null>(null);
  const named = (name: string | null): GroupLag | undefined => topics.find(({ topic }) => topic === name);
  const worst = [...topics].sort((a, b) => b.lagSeconds - a.lagSeconds)[0];
  // What was worst at first stays: nothing is to change its topic under the hands of whoever is about to move it.
  const chosen = named(query("topic")) ?? named(shown.current) ?? worst;
  if (chosen !== undefined) shown.current = chosen.topic;
  const why = useWhy(group, chosen?.topic);
  // What holds it up stands above all else: it is waited for, so that nothing moves down when it comes.
  const isComing = why.data === undefined && why.problem?.isOffline !== false;
  return (
    <>
      <PageHead
        title={group}
        mono
        crumbs={[{ label: "Groups", href: to("groups") }]}
        badges={chosen && (isHeldUp(chosen, why.data) ? <HeldUp /> : <GroupState group={chosen} />)}
        actions={chosen && <Actions group={chosen} />}
      >
        {chosen && <OnTopic chosen={chosen.topic} topics={topics.map(({ topic }) => topic)} />}
      </PageHead>
      <Loaded live={live} rows={10}>
        {() =>
          isComing ? (
            <Waiting rows={10} problem={why.problem} />
          ) : (
            chosen && (
              <div key={chosen.topic} class="flex flex-col gap-4">
                <WhySection topic={chosen.topic} why={why.data} />
                <GroupFigures group={chosen} />
                <div class="grid items-start gap-4 lg:grid-cols-2">
                  <Section title="Partition map" note="colour: owner · fill: lag · ring: a key is blocked">
                    <PartitionMap group={chosen} />
                  </Section>
                  <Section title="Lag" note={linesWords(chosen.partitions.length)}>
                    <LagChart group={chosen} atMs={live.atMs} />
                  </Section>
                </div>
              </div>
            )
          )
        }
      </Loaded>
    </>
  );
}

/** Others of its keys may go on: what the list of groups knows of it is only how far it is. */
function isHeldUp({ paused }: GroupLag, why: Why | undefined): boolean {
  return paused === undefined && (why?.items[0]?.blocked ?? []).length > 0;
}

function HeldUp() {
  return (
    <Badge tone="warn" icon={TriangleAlert}>
      held up
    </Badge>
  );
}

function OnTopic({ chosen, topics }: { readonly chosen: string; readonly topics: readonly string[] }) {
  return (
    <span class={topics.length > 1 ? "flex items-center gap-2" : ""}>
      on{" "}
      {topics.length > 1 ? (
        <SelectField
          bare
          label="Topic"
          value={chosen}
          choices={topics.map((topic) => ({ value: topic, label: topic }))}
          onChange={(topic) => setQuery({ topic }, { push: true })}
        />
      ) : (
        <TextLink href={to("topics", chosen)}>{chosen}</TextLink>
      )}
    </span>
  );
}

function Actions({ group: shown }: { readonly group: GroupLag }) {
  const { group, topic, paused } = shown;
  const [open, setOpen] = useState<"move" | "verify" | "pause" | null>(null);
  const close = (): void => setOpen(null);
  const mayDo = (action: string): boolean => may("ops", action) && may("group", group);
  return (
    <>
      <CopyCommand command={`promethean why ${shellWord(group)} --topic ${shellWord(topic)}`} />
      <Button icon={ListChecks} onClick={() => setOpen("verify")}>
        Verify
      </Button>
      {mayDo("cursor") && (
        <Button icon={MoveHorizontal} onClick={() => setOpen("move")}>
          Move cursor
        </Button>
      )}
      {paused === undefined && mayDo("pause") && (
        <Button icon={Pause} onClick={() => setOpen("pause")}>
          Pause
        </Button>
      )}
      {paused !== undefined && mayDo("resume") && <ResumeButton group={shown} />}
      {open === "move" && <MoveDialog group={group} topic={topic} onClose={close} />}
      {open === "verify" && <VerifyDialog group={group} topic={topic} onClose={close} />}
      {open === "pause" && <PauseDialog group={shown} onClose={close} />}
    </>
  );
}
