/** `promethean doctor`: looks at everything that tends to be wrong, and says what to do about each. */
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Command } from "commander";
import type { GroupLag } from "../../bus/admin.js";
import type { TaskReport } from "../../model/task.js";
import { mayBeBehind } from "../../project/history/expected-lag.js";
import type { EmbeddedStore } from "../../stores/embedded/index.js";
import type { Backend } from "../backend.js";
import { colors } from "../colors.js";
import { CliError, failure } from "../exit.js";
import { newCommand } from "../own-command.js";
import { Progress } from "../progress.js";
import { count, counted, dataSize, duration } from "../quantities.js";
import { perform, type Session, withConnection } from "../session.js";
import { packageVersion } from "../version.js";
import { failingOutbox } from "./outbox.js";

type State = "ok" | "warn" | "fail";

interface Finding {
  readonly check: string;
  readonly state: State;
  readonly found: string;
  /** What to do about it. */
  readonly advice?: string;
}

interface DoctorOptions {
  readonly deep?: boolean;
}

interface Overview {
  readonly store: string;
  readonly nowMs: number;
  readonly deadLetters: { readonly open: number };
  readonly tasks: readonly TaskReport[];
}

const MIN_FREE_BYTES = 1_000_000_000;
const MAX_SKEW_MS = 2_000;
const OLD_LAG_SECONDS = 300;
/** Damage named one by one. */
const MAX_PROBLEMS = 5;
const MARKS: Readonly<Record<State, string>> = { ok: "✓", warn: "!", fail: "✗" };

export function doctorCommand(): Command {
  const command = newCommand(
    "doctor",
    "Checks versions, store, clock, disk, groups, dead letters, tasks and outbox; says what to do. Exit code 1 if something is broken.",
    [
      "promethean doctor",
      "promethean doctor --store bus.db --json",
      "promethean doctor --store bus.db --deep",
    ],
  ).option("--deep", "also read all of a store's file, and check every event and index entry in it");
  return withConnection(command).action(perform<DoctorOptions, []>(examine));
}

async function examine(session: Session<DoctorOptions>): Promise<void> {
  const findings: Finding[] = [nodeVersion(), { check: "promethean", state: "ok", found: packageVersion() }];
  const backend = await reach(session, findings);
  if (backend !== undefined) {
    for (const look of [ready, guarantees, disk, clock, groups, upkeep, outbox])
      findings.push(...(await attempt(look, backend)));
    if (session.options.deep === true) findings.push(...(await attempt(contents, backend)));
  }
  print(session, findings);
  const broken = findings.filter(({ state }) => state === "fail").length;
  if (broken > 0) throw failure("STORE_UNAVAILABLE", `${counted(broken, "check")} failed`);
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = major > 20 || (major === 20 && minor >= 19);
  const found = `${process.versions.node} on ${process.platform} ${process.arch}`;
  if (fits) return { check: "node", state: "ok", found };
  return { check: "node", state: "fail", found, advice: "install Node 20.19 or newer" };
}

async function reach(session: Session<DoctorOptions>, findings: Finding[]): Promise<Backend | undefined> {
  try {
    const backend = await session.connect();
    await backend.get("/topics");
    findings.push({ check: "connection", state: "ok", found: backend.name });
    return backend;
  } catch (error) {
    const hint = error instanceof CliError ? error.hint : undefined;
    findings.push({
      check: "connection",
      state: "fail",
      found: (error as Error).message,
      ...(hint && { advice: hint }),
    });
    return undefined;
  }
}

async function attempt(look: (backend: Backend) => Promise<Finding[]>, backend: Backend): Promise<Finding[]> {
  try {
    return await look(backend);
  } catch (error) {
    const advice = "a token with ops:* and read:** sees everything";
    return [{ check: look.name, state: "warn", found: (error as Error).message, advice }];
  }
}

async function ready(backend: Backend): Promise<Finding[]> {
  const { status } = await backend.get<{ status: string }>("/readyz");
  return [{ check: "ready", state: status === "ready" ? "ok" : "fail", found: status }];
}

/** What the store promises; known only where it is opened here. */
async function guarantees({ bus }: Backend): Promise<Finding[]> {
  if (bus === undefined) return [];
  const { durable, sharedByProcesses, transactions } = bus.store.capabilities;
  return [
    durable
      ? {
          check: "durability",
          state: "ok",
          found: "a publish is answered once it is on disk, by a majority where there is one",
        }
      : {
          check: "durability",
          state: "warn",
          found: "nothing survives the process",
          advice: "use a file or MongoDB",
        },
    transactions
      ? { check: "topology", state: "ok", found: "transactions: documents and cursors in one commit" }
      : {
          check: "topology",
          state: "warn",
          found: "no transactions: a standalone MongoDB",
          advice: "make it a replica set (one node is enough): mongod --replSet rs0, then rs.initiate()",
        },
    ...(sharedByProcesses ? [] : [{ check: "sharing", state: "warn" as const, found: "one process only" }]),
  ];
}

async function disk({ bus }: Backend): Promise<Finding[]> {
  const path = (bus?.store as { path?: string } | undefined)?.path;
  if (path === undefined) return [];
  const { bavail, bsize } = await statfs(dirname(path));
  const free = bavail * bsize;
  const found = `${dataSize(free)} free`;
  if (free >= MIN_FREE_BYTES) return [{ check: "disk", state: "ok", found }];
  return [
    {
      check: "disk",
      state: "warn",
      found,
      advice: "make room, or set retention on the largest topics (`promethean topics`)",
    },
  ];
}

/** Bits turn on disks: what nobody has read for a year may be damaged without anybody knowing. */
async function contents({ bus }: Backend): Promise<Finding[]> {
  const store = bus?.store as Partial<EmbeddedStore> | undefined;
  if (store?.check === undefined) {
    const advice = "give the file: promethean doctor --store <file> --deep";
    return [
      { check: "contents", state: "warn", found: "only a store's own file can be read through", advice },
    ];
  }
  let progress: Progress | undefined;
  const { events, problems } = await store.check({
    onProgress: (checked, total) => {
      progress ??= new Progress("checking", total, "share");
      progress.at(checked);
    },
  });
  progress?.end();
  if (problems.length === 0)
    return [{ check: "contents", state: "ok", found: `${counted(events, "event")}, all sound` }];
  const more = problems.length - MAX_PROBLEMS;
  return [
    ...problems.slice(0, MAX_PROBLEMS).map((found) => ({ check: "contents", state: "fail" as const, found })),
    ...(more > 0 ? [{ check: "contents", state: "fail" as const, found: `and ${count(more)} more` }] : []),
    {
      check: "contents",
      state: "fail",
      found: "the file is damaged",
      advice: "restore a backup, or export what can be read into a new store: promethean export, then import",
    },
  ];
}

async function clock(backend: Backend): Promise<Finding[]> {
  const beforeMs = Date.now();
  const { nowMs } = await backend.get<Overview>("/overview");
  const skewMs = nowMs - (beforeMs + Date.now()) / 2;
  const found = `${Math.abs(Math.round(skewMs))} ms apart`;
  if (Math.abs(skewMs) < MAX_SKEW_MS) return [{ check: "clock", state: "ok", found }];
  return [
    {
      check: "clock",
      state: "warn",
      found,
      advice: 'run NTP on both machines: retention and "from ts" go by clocks',
    },
  ];
}

async function groups(backend: Backend): Promise<Finding[]> {
  const { items } = await backend.get<{ items: GroupLag[] }>("/groups");
  const isBehind = (group: GroupLag): boolean =>
    group.lag > 0 && group.lagSeconds > OLD_LAG_SECONDS && !mayBeBehind(group);
  const behind = items.filter(isBehind);
  if (behind.length === 0)
    return [{ check: "groups", state: "ok", found: `${counted(items.length, "group")}, none far behind` }];
  return behind.slice(0, 5).map(({ group, topic, lag, lagSeconds }) => ({
    check: "groups",
    state: "warn" as const,
    found: `${group} is ${counted(lag, "event")} behind on ${topic}, for ${duration(lagSeconds * 1_000)}`,
    advice: `promethean why ${group} --topic ${topic}`,
  }));
}

async function upkeep(backend: Backend): Promise<Finding[]> {
  const { deadLetters, tasks } = await backend.get<Overview>("/overview");
  const letters: Finding =
    deadLetters.open === 0
      ? { check: "dead letters", state: "ok", found: "none" }
      : {
          check: "dead letters",
          state: "warn",
          found: counted(deadLetters.open, "open letter"),
          advice: "promethean dlq ls",
        };
  const troubled = tasks.filter(({ state }) => state === "failed" || state === "retrying");
  const found = troubled
    .map(({ name, state, lastError }) => `${name} is ${state}: ${lastError ?? "?"}`)
    .join("; ");
  return [
    letters,
    troubled.length === 0
      ? { check: "tasks", state: "ok", found: counted(tasks.length, "task") }
      : {
          check: "tasks",
          state: "warn",
          found,
          advice: "the hub's log says more; tasks try again by themselves",
        },
  ];
}

async function outbox(backend: Backend): Promise<Finding[]> {
  const { dead, items } = await failingOutbox(backend);
  const failing = items.length;
  if (dead + failing === 0) return [{ check: "outbox", state: "ok", found: "nothing is stuck" }];
  return [
    {
      check: "outbox",
      state: "warn",
      found: `${counted(dead, "dead entry", "dead entries")}, ${count(failing)} that failed so far; others of their keys wait`,
      advice: "promethean outbox status",
    },
  ];
}

function print({ out }: Session<DoctorOptions>, findings: readonly Finding[]): void {
  const paint: Readonly<Record<State, (text: string) => string>> = {
    ok: colors.green,
    warn: colors.yellow,
    fail: colors.red,
  };
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, state, found, advice }) => [
    `${paint[state](MARKS[state])} ${check.padEnd(width)}  ${found}`,
    ...(advice === undefined ? [] : [`  ${" ".repeat(width)}  → ${advice}`]),
  ]);
  out.value({ ok: findings.every(({ state }) => state !== "fail"), findings }, lines.join("\n"));
}
