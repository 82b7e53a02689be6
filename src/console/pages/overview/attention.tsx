/** What is wrong, each in a sentence with the way to it. Nothing at all when nothing is. */
import { ChevronRight, CircleAlert, MailX, PauseCircle, TriangleAlert } from "lucide-preact";
import { to } from "../../app/router.js";
import { may } from "../../app/session.js";
import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { GroupStats, Items, TaskReport, Why } from "../../data/shapes.js";
import { useStats } from "../../data/stats.js";
import { worksInRounds } from "../../data/stats-past.js";
import { plural } from "../../ui/format.js";
import { Link } from "../../ui/link.js";
import { Sentence } from "../../ui/sentence.js";

/** Behind for longer than this is worth a sentence. */
const BEHIND_SECONDS = 20;
const MAX_GROUPS = 3;

export function Attention() {
  const stats = useStats();
  const tasks = useLive<Items<TaskReport>>(may("ops", "tasks") ? "/tasks" : null, 5_000).data?.items ?? [];
  if (stats === undefined) return null;
  const behind = stats.groups
    .filter((one) => one.lag > 0 && one.paused === undefined && one.lagSeconds > BEHIND_SECONDS)
    .filter((one) => !worksInRounds(one))
    .sort((a, b) => b.lagSeconds - a.lagSeconds);
  const paused = stats.groups.filter((group) => group.paused !== undefined);
  const failing = tasks.filter(({ state }) => state === "failed" || state === "retrying");
  const letters = Object.entries(stats.deadLetters.topics).sort(([, a], [, b]) => b - a);
  if (behind.length + paused.length + failing.length + letters.length === 0) return null;
  const [worst] = letters;
  return (
    <section aria-label="Needs attention" class="card divide-y divide-line overflow-hidden">
      {behind.slice(0, MAX_GROUPS).map((group) => (
        <Stuck key={`${group.topic} ${group.group}`} group={group} />
      ))}
      {failing.map(({ name, state, lastError }) => (
        <Item key={name} icon={CircleAlert} tone="bad" href={to("operations")}>
          <Sentence text={`\`${name}\` is ${state}${lastError === undefined ? "." : `: ${lastError}`}`} />
        </Item>
      ))}
      {worst !== undefined && (
        <Item
          icon={MailX}
          tone="bad"
          href={letters.length === 1 ? to("dead-letters", worst[0]) : to("dead-letters")}
        >
          {plural(stats.deadLetters.open, "dead letter")} {stats.deadLetters.open === 1 ? "waits" : "wait"}{" "}
          for a decision
          {letters.length === 1 ? ` in ${worst[0]}` : ` in ${letters.length} topics, most in ${worst[0]}`}.
        </Item>
      )}
      {paused.map(({ group, topic, paused: pause }) => (
        <Item key={`${topic} ${group}`} icon={PauseCircle} tone="warn" href={to("groups", group, { topic })}>
          {group} is paused on {topic} by {pause?.by}.
        </Item>
      ))}
    </section>
  );
}

function Stuck({ group: { topic, group } }: { readonly group: GroupStats }) {
  const why = useLive<Why>(`/groups/${seg(group)}/why?topic=${seg(topic)}`, 3_000);
  return (
    <Item icon={TriangleAlert} tone="warn" href={to("groups", group, { topic })}>
      <Sentence text={why.data?.sentence ?? `${group} is behind on ${topic}.`} />
    </Item>
  );
}

function Item(props: {
  readonly icon: typeof MailX;
  readonly tone: "warn" | "bad";
  readonly href: string;
  readonly children: preact.ComponentChildren;
}) {
  const { icon: Icon, tone, href, children } = props;
  return (
    <Link href={href} class="flex items-center gap-3 px-4 py-2.5 text-sm hover:bg-sunken">
      <Icon size={16} aria-hidden="true" class={`shrink-0 ${tone === "warn" ? "text-warn" : "text-bad"}`} />
      <span class="min-w-0 flex-1">{children}</span>
      <ChevronRight size={15} aria-hidden="true" class="shrink-0 text-faint" />
    </Link>
  );
}
