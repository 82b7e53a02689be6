/** `promethean topic`: removes one, after saying what that means. `promethean topics` looks at them. */
import type { Command } from "commander";
import type { RemovedTopic } from "../../bus/topic-removal.js";
import { newCommand } from "../own-command.js";
import { counted } from "../quantities.js";
import { removeIfAgreed } from "../removal.js";
import { type ConsentOptions, perform, type Session, withConnection, withConsent } from "../session.js";

export function topicCommand(): Command {
  const rm = newCommand(
    "rm",
    "Removes a topic that nobody is subscribed to: its events, groups, schemas, dead letters and snapshot.",
    ["promethean topic rm orders.old --dry-run", "promethean topic rm orders.old --yes"],
  ).argument("<topic>", "the topic");
  return newCommand("topic", "Removes a topic.", ["promethean topic rm orders.old --dry-run"]).addCommand(
    withConsent(withConnection(rm)).action(perform<ConsentOptions, [string]>(remove)),
  );
}

function remove(session: Session<ConsentOptions>, topic: string): Promise<void> {
  return removeIfAgreed<RemovedTopic>(session, {
    path: `/topics/${encodeURIComponent(topic)}/remove`,
    jobTitle: `remove ${topic}`,
    loss: lossOf,
    obstacles: (preview) => preview.obstacles,
    done: (removed) => `${lossOf(removed)} It was removed.`,
  });
}

function lossOf({ topic, events, deadLetters, groups, others }: RemovedTopic): string {
  const along = others.length === 0 ? "" : `, with ${others.join(", ")}`;
  const letters = deadLetters === 0 ? "" : `, ${counted(deadLetters, "open dead letter")}`;
  const by = groups.length === 0 ? "" : `; ${counted(groups.length, "group")} (${groups.join(", ")})`;
  return `${topic}${along}: ${counted(events, "event")}${letters}${by}.`;
}
