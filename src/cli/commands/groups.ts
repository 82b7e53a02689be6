/** `promethean groups`: all of them, or one with who owns which partition. */
import type { Command } from "commander";
import type { GroupLag, PartitionLag } from "../../bus/admin.js";
import { mayBeBehind } from "../../project/history/expected-lag.js";
import { tableLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { count, duration } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";

interface GroupsOptions {
  readonly topic?: string;
}

export function groupsCommand(): Command {
  const command = newCommand("groups", "Lists the groups, or shows one: its members and what each owns.", [
    "promethean groups",
    "promethean groups --topic orders.placed",
    "promethean groups mailer --json",
  ])
    .argument("[group]", "one group, with its partitions")
    .option("--topic <topic>", "only groups of this topic");
  return withConnection(command).action(perform<GroupsOptions, [string?]>(groups));
}

async function groups(session: Session<GroupsOptions>, group?: string): Promise<void> {
  const backend = await session.connect();
  const { topic } = session.options;
  if (group !== undefined) return show(session, await backend.get(`/groups/${encodeURIComponent(group)}`));
  const { items } = await backend.get<{ items: GroupLag[] }>("/groups", { topic });
  session.out.table(items, GROUP_COLUMNS, "There are no groups yet: the first subscriber makes one.");
}

export const GROUP_COLUMNS = [
  { title: "GROUP", cell: ({ group }: GroupLag) => group },
  { title: "TOPIC", cell: ({ topic }: GroupLag) => topic },
  { title: "LAG", align: "right" as const, cell: ({ lag }: GroupLag) => count(lag) },
  {
    title: "OLDEST",
    spare: 1,
    align: "right" as const,
    cell: oldestOf,
  },
  { title: "MEMBERS", spare: 2, align: "right" as const, cell: ({ members }: GroupLag) => members.length },
];

function oldestOf(group: GroupLag): string {
  if (group.resting) return "rests";
  if (group.lag === 0) return "–";
  return mayBeBehind(group) ? "in rounds" : duration(group.lagSeconds * 1_000);
}

function show(
  { out }: Session,
  group: { readonly group: string; readonly topics: readonly GroupLag[] },
): void {
  const rows = group.topics.flatMap(({ topic, partitions }) =>
    partitions.map((partition) => ({ topic, ...partition })),
  );
  const lines = tableLines<PartitionLag & { topic: string }>(rows, [
    { title: "TOPIC", cell: ({ topic }) => topic },
    { title: "PARTITION", align: "right", cell: ({ partition }) => partition },
    { title: "FLOOR", spare: 2, align: "right", cell: ({ floor }) => count(floor) },
    { title: "HEAD", spare: 1, align: "right", cell: ({ head }) => count(head) },
    { title: "LAG", align: "right", cell: ({ lag }) => count(lag) },
    { title: "IN FLIGHT", spare: 4, align: "right", cell: ({ inFlight }) => count(inFlight) },
    { title: "OWNER", spare: 3, cell: ({ owner }) => owner },
  ]);
  out.value(group, lines.join("\n"));
}
