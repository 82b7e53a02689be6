/** `promethean why`: what holds a group up, in a sentence. */
import type { Command } from "commander";
import type { WhyReport } from "../../bus/admin.js";
import { tableLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { count } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";

interface WhyOptions {
  readonly topic?: string;
}

interface Why {
  readonly group: string;
  readonly sentence: string;
  readonly items: readonly WhyReport[];
}

export function whyCommand(): Command {
  const command = newCommand(
    "why",
    "Says what holds a group up: the event, its tries, its error, what waits behind it.",
    ["promethean why mailer", "promethean why mailer --topic orders.placed --json"],
  )
    .argument("<group>", "the group")
    .option("--topic <topic>", "on this topic only");
  return withConnection(command).action(perform<WhyOptions, [string]>(why));
}

async function why(session: Session<WhyOptions>, group: string): Promise<void> {
  const backend = await session.connect();
  const { topic } = session.options;
  const found = await backend.get<Why>(`/groups/${encodeURIComponent(group)}/why`, { topic });
  const blocked = found.items.flatMap((item) => item.blocked.map((one) => ({ topic: item.topic, ...one })));
  const table = tableLines(blocked, [
    { title: "TOPIC", cell: (one) => one.topic },
    { title: "AT", cell: ({ partition, seq }) => `${partition}/${seq}` },
    { title: "KEY", cell: ({ key }) => key },
    { title: "FAILED", align: "right", cell: ({ failures }) => count(failures) },
    { title: "BEHIND IT", align: "right", cell: ({ behind }) => count(behind) },
    { title: "ERROR", cell: ({ error }) => error },
  ]);
  session.out.value(found, [found.sentence, ...(blocked.length > 0 ? ["", ...table] : [])].join("\n"));
}
