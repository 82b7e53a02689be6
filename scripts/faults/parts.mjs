/**
 * The parts of the fault run: how each is started and how its report is read. `short` is how much it does when no time is
 * given, in units of its own; `weight` is its share of the time that is given; `unitMs` is what one unit takes, roughly,
 * for the parts that are told how much to do and not how long.
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const script = (name) => join(root, "scripts", name);

/** A part of test/faults. */
function own(name, says, { file = name, run, program, more = {}, short, weight = 1, unit, node = [] }) {
  return {
    name,
    says,
    unit,
    short,
    weight,
    command: ({ count, seed, budgetMs }) => [
      ...node,
      script("faults/part.mjs"),
      `faults/${file}`,
      run,
      JSON.stringify({ count, seed, budgetMs, ...more }),
      ...(program === undefined ? [] : [program]),
    ],
    read: (output) => JSON.parse(lastLine(output)),
  };
}

/** A script that was there before, with a report of its own. */
function existing(name, says, { args, read, short, weight = 1, unit, unitMs, node = [] }) {
  return {
    ...{ name, says, unit, short, weight, unitMs },
    command: (amount) => [...node, ...args(amount)],
    read,
  };
}

/** Processes that are killed at moments of chance, or (with `flags`) die at named points. */
function crash(name, says, { store, flags = [], ...sizes }) {
  return existing(name, says, {
    ...sizes,
    args: ({ count, seed }) => [
      ...[script("crash.mjs"), "--store", store, "--cycles", `${count}`, "--seed", `${seed}`, "--json"],
      ...flags,
    ],
    read: (output) => {
      const run = JSON.parse(lastLine(output));
      return report(
        { "kill -9": run.kills },
        {
          "publishes acknowledged": run.acked,
          "events in the log": run.logged,
          "events redelivered, marked": run.redelivered,
          "dead letters, each once": run.deadLettered,
        },
        run.anomalies,
        flags.length > 0 ? [] : [`slowest takeover ${Math.round(run.slowestTakeoverMs)} ms`],
      );
    },
  });
}

function endurance(name, store, run) {
  const says = `2,000 events a second on ${store} with a fault every 30 s; heap and open files stay flat`;
  const program = "faults/projecting-child";
  const sizes = { short: 10, unit: "seconds", weight: 3 };
  return own(name, says, { file: "endurance", run, program, ...sizes, node: ["--expose-gc"] });
}

export const PARTS = [
  crash(
    "embedded-crash",
    "kill -9 of a process that publishes, consumes and projects on the embedded store",
    { ...{ store: "embedded", short: 10, unit: "kills", unitMs: 900, weight: 2 } },
  ),
  crash("mongo-crash", "kill -9 of a process that publishes, consumes and projects on MongoDB", {
    ...{ store: "mongo", short: 5, unit: "kills", unitMs: 2_700, weight: 2 },
  }),
  crash(
    "embedded-points",
    "processes on the embedded store die at named points: around appends, cursors, dead letters, transactions, hand-overs, compaction, outbox",
    {
      ...{ store: "embedded", flags: ["--points"], short: 12, unit: "deaths of each kind of process" },
      ...{ unitMs: 4_000 },
    },
  ),
  crash("mongo-points", "the same on MongoDB", {
    ...{ store: "mongo", flags: ["--points"], short: 12, unit: "deaths of each kind of process" },
    ...{ unitMs: 6_000 },
  }),
  existing(
    "role-kills",
    "kill -9 of drainers, projectors, compactors and change feeds, on both durable stores and both layouts of MongoDB",
    {
      ...{ short: 2, unit: "kills per role and store", unitMs: 18_000, weight: 3 },
      args: ({ count, seed }) => [
        script("project-kills.mjs"),
        "--cycles",
        `${count}`,
        "--seed",
        `${seed}`,
        "--json",
      ],
      read: (output) =>
        jsonLines(output)
          .map(({ role, store, kills, anomalies }) =>
            report(
              { [`kill -9 of a ${role}, ${store}`]: kills },
              { [`ends of ${role} runs judged`]: 1 },
              anomalies.map((says) => `${role} on ${store}: ${says}`),
            ),
          )
          .reduce(merge),
    },
  ),
  own(
    "hub-kills",
    "kill -9 of hubs under the clients that publish and consume through them, on both stores, and with a file of the hub's own",
    {
      ...{ run: "runHubKills", program: "support/hub-process", short: 3, unit: "kills per store", weight: 2 },
    },
  ),
  own("mongo-network", "a bad wire to MongoDB: cut, reset, half open, mute, slow", {
    ...{ run: "runMongoNetwork", short: 5, unit: "faults", weight: 2 },
  }),
  own("mongo-partitions", "a network that falls apart between the nodes of a replica set", {
    ...{ run: "runMongoPartitions", short: 2, unit: "partitions", weight: 2 },
  }),
  own("mongo-failpoints", "every retryable error of MongoDB, and lost change streams, by failpoints", {
    ...{ run: "runMongoFailpoints", short: 18, unit: "failpoints", weight: 2 },
  }),
  own("mongo-groups", "members of a group on MongoDB come, leave, are killed and frozen", {
    ...{ run: "runMongoGroups", program: "stores/mongo/group-member", short: 12, unit: "seconds", weight: 2 },
  }),
  existing(
    "mongo-servers",
    "primaries of a three-node set are killed, frozen, told to step down; the set is restarted; retention and compaction run on",
    {
      ...{ short: 3, unit: "faults", unitMs: 9_000, weight: 2 },
      args: ({ count }) => [script("mongo-faults.mjs"), planOf(count)],
      read: (output, ok, { count }) => {
        const load = JSON.parse(/\[mongo faults\].*?; (\{.*\})/.exec(output)?.[1] ?? "{}");
        const [tail] = output.trim().split("\n").slice(-12);
        return report(
          { "fault of a server": ok ? count : 0 },
          {
            "publishes acknowledged": (load.acked ?? 0) + (load.removed?.published ?? 0),
            "events read in order": load.events ?? 0,
            "events trimmed by age": load.removed?.trimmed ?? 0,
            "events superseded and compacted away": load.removed?.compacted ?? 0,
          },
          ok ? [] : [`failed: ${tail}`],
          load.longestPauseMs === undefined ? [] : [`longest pause of publishing ${load.longestPauseMs} ms`],
        );
      },
    },
  ),
  endurance("mongo-endurance", "MongoDB", "runMongoEndurance"),
  endurance("embedded-endurance", "the embedded store", "runEmbeddedEndurance"),
  own(
    "power-loss",
    "disks as they may be found after a power loss at any moment, torn at 512 bytes; a topic comes and goes",
    {
      ...{ run: "runPowerLoss", program: "faults/disk-child", short: 20, unit: "images", weight: 2 },
    },
  ),
  own("power-loss-ahead", "the same where one process has the file for itself, and appends go ahead", {
    ...{ file: "power-loss", run: "runPowerLoss", program: "faults/disk-child", more: { exclusive: true } },
    ...{ short: 20, unit: "images" },
  }),
  own("bit-flips", "bits that turn under a store file, also of topics that were removed", {
    ...{ run: "runBitFlips", program: "faults/flip-child", short: 40, unit: "bits" },
  }),
  own("write-errors", "EIO and ENOSPC at the Nth write, sync or truncation; a topic comes and goes", {
    ...{ run: "runWriteErrors", program: "faults/disk-child", short: 5, unit: "runs" },
  }),
  own("write-errors-ahead", "the same where one process has the file for itself, and appends go ahead", {
    ...{ file: "write-errors", run: "runWriteErrors", program: "faults/disk-child" },
    ...{ more: { exclusive: true }, short: 5, unit: "runs" },
  }),
  existing("disk-full", "a full device, a file that may not grow, a store at its limit", {
    ...{ short: 1, unit: "run", unitMs: 600_000, weight: 0 },
    args: () => vitest("test/stores/embedded/disk.test.ts"),
    read: readVitest,
  }),
  own("clock-jumps", "clocks that jump by an hour, forward and back", {
    ...{ run: "runClockJumps", short: 12, unit: "jumps" },
  }),
  own("freezes", "processes on one store file, frozen beyond their leases and thawed", {
    ...{ run: "runFreezes", program: "faults/freeze-child", short: 3, unit: "freezes" },
  }),
  own("simulation", "buses, producers, projections and a remover of topics in one process under one seed", {
    ...{ run: "runSimulation", short: 60, unit: "seeds", weight: 3 },
  }),
  own(
    "fuzz",
    "names, patterns, rights, tokens, cursors, filters, lines, CloudEvents and schemas that nobody would send",
    {
      ...{ run: "runFuzz", file: "fuzz/fuzz", short: 5_000, unit: "inputs of each kind", weight: 2 },
    },
  ),
  existing("hub-fuzz", "frames and requests that no client would send", {
    ...{ short: 5_000, unit: "inputs", unitMs: 3, weight: 1, node: ["--expose-gc"] },
    args: ({ count, seed }) => [script("hub-fuzz.mjs"), "--count", `${count}`, "--seed", `${seed}`, "--json"],
    read: (output) => {
      const run = JSON.parse(lastLine(output));
      return report(
        { "message or request that is wrong": run.frames + run.requests },
        { "answers judged": run.frames + run.requests },
        run.failures,
        [`heap grew by ${run.heapGrowthMiB} MiB`],
      );
    },
  }),
  existing("hub-crowd", "WebSocket consumers on one hub, one in twenty of which stops reading", {
    ...{ short: 100, unit: "consumers", unitMs: 60, weight: 1 },
    args: ({ count }) => {
      const consumers = Math.min(count, 1_000);
      const sizes = ["--consumers", `${consumers}`, "--stalled", `${Math.round(consumers / 20)}`];
      return [script("hub-crowd.mjs"), ...sizes, "--json"];
    },
    read: (output) => {
      const { delivered, expected, readOn, readNever, connectedMiB, peakMiB } = JSON.parse(lastLine(output));
      return report(
        {
          "consumer that stops reading": [readOn, readNever]
            .flatMap((codes) => Object.values(codes))
            .reduce((sum, times) => sum + times, 0),
        },
        { "deliveries to the others": delivered },
        delivered === expected ? [] : [`lost: ${expected - delivered} of ${expected} deliveries`],
        [`hub ${connectedMiB} MiB with everybody there, ${peakMiB} MiB at most`],
      );
    },
  }),
];

/** Faults of servers in turn, a restart of the whole set now and then. */
function planOf(count) {
  const round = ["kill", "stop", "step", "kill", "kill", "step", "stop", "kill", "restart"];
  return Array.from({ length: count }, (_, i) => round[i % round.length]).join(" ");
}

function vitest(file) {
  return [
    join(root, "node_modules", "vitest", "vitest.mjs"),
    "run",
    "--project",
    "stores",
    "--reporter=json",
    file,
  ];
}

function readVitest(output) {
  const run = jsonLines(output).find((line) => line.numTotalTests !== undefined) ?? {};
  const failed = (run.testResults ?? []).flatMap((file) =>
    file.assertionResults
      .filter(({ status }) => status !== "passed")
      .map(({ fullName }) => `failed: ${fullName}`),
  );
  const isEmpty = (run.numPassedTests ?? 0) === 0;
  return report(
    { "device without room, or failing": run.numPassedTests ?? 0 },
    { tests: run.numTotalTests ?? 0 },
    isEmpty && failed.length === 0 ? ["failed: no test ran"] : failed,
  );
}

function report(faults, checked, anomalies, notes = []) {
  return { faults, checked, anomalies: anomalies.map((says) => ({ class: classOf(says), says })), notes };
}

/** Runs that were there before put the class first: "lost: …". */
function classOf(says) {
  return /^([a-z-]+):/.exec(says)?.[1] ?? "failed";
}

function merge(a, b) {
  const sum = (x, y) => Object.fromEntries([...Object.entries(x), ...Object.entries(y)]);
  return {
    faults: sum(a.faults, b.faults),
    checked: sum(a.checked, b.checked),
    anomalies: [...a.anomalies, ...b.anomalies],
    notes: [...a.notes, ...b.notes],
  };
}

function lastLine(output) {
  return output.trim().split("\n").at(-1) ?? "";
}

function jsonLines(output) {
  return output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}
