/** `promethean lag`: how far behind groups are, once or over and over. */
import { type Command, Option } from "commander";
import type { GroupLag } from "../../bus/admin.js";
import { pause, systemClock } from "../../model/clock.js";
import { mayBeBehind } from "../../project/history/expected-lag.js";
import { Absence } from "../absence.js";
import { positiveSpan } from "../arguments.js";
import type { Backend } from "../backend.js";
import { mayComeBack } from "../exit.js";
import { tableLines } from "../output.js";
import { newCommand } from "../own-command.js";
import { count, duration } from "../quantities.js";
import { isScreen, Screen } from "../screen.js";
import { perform, type Session, withConnection } from "../session.js";
import { GROUP_COLUMNS } from "./groups.js";

interface LagOptions {
  readonly topic?: string;
  readonly group?: string;
  readonly watch?: boolean;
  readonly every: number;
}

interface Lag {
  readonly lag: number;
  readonly lagSeconds: number;
  readonly drainSeconds: number | null;
  readonly groups: readonly (GroupLag & { readonly drainSeconds: number | null })[];
}

export function lagCommand(): Command {
  const command = newCommand("lag", "How far behind groups are, in events and in time.", [
    "promethean lag",
    "promethean lag --group mailer --json",
    "promethean lag --watch",
  ])
    .option("--topic <topic>", "only groups of this topic")
    .option("-g, --group <group>", "only this group")
    .option("-w, --watch", "repeat until Ctrl-C; with --json one line each time")
    .addOption(new Option("--every <span>", "how often").argParser(positiveSpan).default(2_000, "2s"));
  return withConnection(command).action(perform<LagOptions, []>(lag));
}

async function lag(session: Session<LagOptions>): Promise<void> {
  const backend = await session.connect();
  if (!session.options.watch) return print(session, await ask(session, backend));
  const screen = isScreen() && !session.out.json ? new Screen(process.stdout) : undefined;
  screen?.enter();
  try {
    await watch(session, backend, screen);
  } finally {
    screen?.leave();
  }
}

/** Also while the hub is away, if it has answered once. */
async function watch(session: Session<LagOptions>, backend: Backend, screen?: Screen): Promise<void> {
  const { out, options, signal } = session;
  const head = `${backend.name}  every ${duration(options.every)}`;
  let known: Lag | undefined;
  const absence = new Absence(out, backend.name, "lag");
  while (!signal.aborted) {
    try {
      known = await ask(session, backend);
      absence.over();
      if (screen === undefined) print(session, known);
      else screen.drawFitting([`${head}  ${total(known)}`, "", ...lines(known)]);
    } catch (error) {
      if (!signal.aborted && (known === undefined || !mayComeBack(error))) throw error;
      if (screen !== undefined && known !== undefined)
        screen.drawFitting([absence.words, "", ...lines(known)]);
      else if (!signal.aborted) absence.tell();
    }
    await pause(systemClock, options.every, signal);
  }
}

function ask({ options }: Session<LagOptions>, backend: Backend): Promise<Lag> {
  return backend.get("/lag", { topic: options.topic, group: options.group });
}

function print({ out }: Session<LagOptions>, now: Lag): void {
  if (!out.json && now.groups.length === 0) out.note("There are no groups yet.");
  else out.value(now, [...lines(now), "", total(now)].join("\n"));
}

function lines({ groups }: Lag): string[] {
  return tableLines(groups, [
    ...GROUP_COLUMNS,
    {
      title: "CAUGHT UP IN",
      spare: 3,
      align: "right" as const,
      cell: caughtUpIn,
    },
  ]);
}

function caughtUpIn(group: Lag["groups"][number]): string {
  if (group.lag === 0) return "now";
  if (mayBeBehind(group)) return "–";
  return group.drainSeconds === null ? "?" : duration(group.drainSeconds * 1_000);
}

function total({ lag: behind, lagSeconds }: Lag): string {
  return behind === 0
    ? "All groups are up to date."
    : `${count(behind)} behind, the oldest for ${duration(lagSeconds * 1_000)}.`;
}
