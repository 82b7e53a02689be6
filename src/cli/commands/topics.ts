/** `promethean topics`: all of them, or one with its partitions and groups. */
import type { Command } from "commander";
import type { TopicConfig } from "../../model/topic.js";
import type { PartitionHead } from "../../ports/log.js";
import { factLines, tableLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { count, dataSize, duration } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";

interface TopicRow extends TopicConfig {
  readonly events: number;
  readonly bytes: number;
}

interface TopicDetail {
  readonly name: string;
  readonly config: TopicConfig;
  readonly events: number;
  readonly bytes: number;
  readonly partitions: readonly PartitionHead[];
  readonly groups: readonly {
    readonly group: string;
    readonly lag: number;
    readonly members: readonly string[];
  }[];
}

export function topicsCommand(): Command {
  const command = newCommand("topics", "Lists the topics, or shows one.", [
    "promethean topics",
    "promethean topics orders.placed",
    "promethean topics --json",
  ]).argument("[topic]", "one topic, with its partitions and groups");
  return withConnection(command).action(perform<object, [string?]>(topics));
}

async function topics(session: Session, topic?: string): Promise<void> {
  const backend = await session.connect();
  if (topic !== undefined) return show(session, await backend.get(`/topics/${encodeURIComponent(topic)}`));
  const { items } = await backend.get<{ items: TopicRow[] }>("/topics");
  session.out.table<TopicRow>(
    items,
    [
      { title: "TOPIC", cell: ({ name }) => name },
      { title: "PARTITIONS", spare: 1, align: "right", cell: ({ partitions }) => partitions },
      { title: "EVENTS", align: "right", cell: ({ events }) => count(events) },
      { title: "SIZE", spare: 2, align: "right", cell: ({ bytes }) => dataSize(bytes) },
      { title: "KEPT", spare: 3, cell: kept },
    ],
    "There are no topics yet: the first publish makes one.",
  );
}

function kept({ retentionMs, retentionBytes, compaction }: TopicConfig): string {
  const parts = [
    compaction ? "newest of each key" : undefined,
    retentionMs === undefined ? undefined : duration(retentionMs),
    retentionBytes === undefined ? undefined : dataSize(retentionBytes),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? "all" : parts.join(", ");
}

function show({ out }: Session, topic: TopicDetail): void {
  const facts = factLines({
    topic: topic.name,
    events: count(topic.events),
    size: dataSize(topic.bytes),
    kept: kept(topic.config),
  });
  const partitions = tableLines(topic.partitions, [
    { title: "PARTITION", align: "right", cell: ({ partition }) => partition },
    { title: "LOW", align: "right", cell: ({ low }) => count(low) },
    { title: "HEAD", align: "right", cell: ({ head }) => count(head) },
    { title: "EVENTS", align: "right", cell: ({ events }) => count(events) },
    { title: "SIZE", align: "right", cell: ({ bytes }) => dataSize(bytes) },
  ]);
  const groups = tableLines(topic.groups, [
    { title: "GROUP", cell: ({ group }) => group },
    { title: "LAG", align: "right", cell: ({ lag }) => count(lag) },
    { title: "MEMBERS", align: "right", cell: ({ members }) => members.length },
  ]);
  const parts = [facts, partitions.join("\n"), ...(topic.groups.length > 0 ? [groups.join("\n")] : [])];
  out.value(topic, parts.join("\n\n"));
}
