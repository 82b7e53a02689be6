/** `promethean cursor`: moves a group, or removes it, after saying what that means. */
import type { Command } from "commander";
import type { RemovedGroup } from "../../bus/group-removal.js";
import type { MovedGroup } from "../../project/transfer/group-move.js";
import { PLACES, type Place, place } from "../arguments.js";
import { demandConsent } from "../consent.js";
import { newCommand } from "../own-command.js";
import { counted } from "../quantities.js";
import { removeIfAgreed } from "../removal.js";
import { type ConsentOptions, perform, type Session, withConnection, withConsent } from "../session.js";

interface CursorOptions extends ConsentOptions {
  readonly topic: string;
}

export function cursorCommand(): Command {
  const set = newCommand(
    "set",
    "Moves a group: what lies after the new place comes again, what lies before it does not.",
    [
      "promethean cursor set mailer earliest --topic orders.placed --dry-run",
      "promethean cursor set mailer latest --topic orders.placed --yes",
      "promethean cursor set mailer --topic orders.placed --dry-run -- -15m",
    ],
  )
    .argument("<group>", "the group")
    .argument("<place>", PLACES, place)
    .requiredOption("--topic <topic>", "the topic");
  const rm = newCommand(
    "rm",
    "Removes a group that nobody is subscribed with: its place is forgotten, its dead letters stay.",
    [
      "promethean cursor rm old-mailer --topic orders.placed --dry-run",
      "promethean cursor rm old-mailer --topic orders.placed --yes",
    ],
  )
    .argument("<group>", "the group")
    .requiredOption("--topic <topic>", "the topic");
  return newCommand("cursor", "Moves a group to another place, or removes it.", [
    "promethean cursor set mailer earliest --topic orders.placed --dry-run",
    "promethean cursor rm old-mailer --topic orders.placed --dry-run",
  ])
    .addCommand(withConsent(withConnection(set)).action(perform<CursorOptions, [string, Place]>(move)))
    .addCommand(withConsent(withConnection(rm)).action(perform<CursorOptions, [string]>(remove)));
}

async function move(session: Session<CursorOptions>, group: string, to: Place): Promise<void> {
  const { out, options, signal } = session;
  const backend = await session.connect();
  const path = `/groups/${encodeURIComponent(group)}/cursor`;
  const ask = (dryRun: boolean): Promise<MovedGroup> =>
    backend.post(path, { topic: options.topic, to, dryRun });
  const preview = await ask(true);
  if (options.dryRun) return out.value(preview, `${meaning(preview)} Nothing was changed.`);
  await demandConsent(`${meaning(preview)} Move it?`, { yes: options.yes ?? false, signal });
  const moved = await ask(false);
  out.value(moved, `${group} was moved on ${options.topic}. ${meaning(moved)}`);
}

function meaning({ redelivered, skipped, events }: MovedGroup): string {
  const lie = events === 1 ? "lies" : "lie";
  const come = (n: number): string => (n === 1 ? "comes" : "come");
  return `${counted(redelivered, "settled event")} ${come(redelivered)} again, ${counted(skipped, "unsettled event")} never ${come(skipped)}, ${counted(events, "event")} ${lie} ahead.`;
}

function remove(session: Session<CursorOptions>, group: string): Promise<void> {
  const { topic } = session.options;
  return removeIfAgreed<RemovedGroup>(session, {
    path: `/groups/${encodeURIComponent(group)}/remove`,
    body: { topic },
    loss: lossOf,
    done: (removed) => `${group} was removed from ${topic}. ${lossOf(removed)}`,
  });
}

function lossOf({ group, unsettled }: RemovedGroup): string {
  const has = unsettled === 1 ? "has" : "have";
  return `${counted(unsettled, "event")} ${has} not been settled by ${group}.`;
}
