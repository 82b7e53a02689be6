/** `promethean verify`: every event of a group is settled, dead-lettered, removed, in flight or pending; or it is named. */
import type { Command } from "commander";
import type { VerifiedGroup } from "../../project/history/verify.js";
import { failure } from "../exit.js";
import { tableLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { count, counted } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";

interface VerifyOptions {
  readonly topic: string;
}

export function verifyCommand(): Command {
  const command = newCommand(
    "verify",
    "Accounts for every event of a group on a topic; exit code 1 if one is missing.",
    [
      "promethean verify mailer --topic orders.placed",
      "promethean verify mailer --topic orders.placed --json",
    ],
  )
    .argument("<group>", "the group")
    .requiredOption("--topic <topic>", "the topic");
  return withConnection(command).action(perform<VerifyOptions, [string]>(verify));
}

async function verify(session: Session<VerifyOptions>, group: string): Promise<void> {
  const backend = await session.connect();
  const { topic } = session.options;
  const found = await backend.get<VerifiedGroup>(`/groups/${encodeURIComponent(group)}/verify`, { topic });
  const holes = found.partitions.flatMap(({ partition, holes: missing }) =>
    missing.map((hole) => ({ partition, ...hole })),
  );
  const table = tableLines(found.partitions, [
    { title: "PARTITION", align: "right", cell: ({ partition }) => partition },
    { title: "HEAD", align: "right", cell: ({ head }) => count(head) },
    { title: "SETTLED", align: "right", cell: ({ settled }) => count(settled) },
    { title: "DEAD LETTERS", align: "right", cell: ({ deadLettered }) => count(deadLettered) },
    { title: "REMOVED", align: "right", cell: ({ removed }) => count(removed) },
    { title: "IN FLIGHT", align: "right", cell: ({ inFlight }) => count(inFlight) },
    { title: "PENDING", align: "right", cell: ({ pending }) => count(pending) },
    { title: "HOLES", align: "right", cell: ({ holes: missing }) => missing.length },
  ]);
  const words = found.ok
    ? "Every event is accounted for."
    : holes.map(({ partition, from, to, why }) => `${partition}/${from}–${to}: ${why}`);
  session.out.value(found, [...table, "", ...[words].flat()].join("\n"));
  if (!found.ok) throw failure("STORE_DAMAGED", `${counted(holes.length, "hole")} in ${group} on ${topic}`);
}
