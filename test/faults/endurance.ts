/**
 * Two thousand events a second for as long as is given, with a fault every thirty seconds: nothing is lost or doubled, and
 * neither the heap nor the number of open files grows. `count` is in seconds. On MongoDB the wire and the server go bad, on
 * both stores a process that shares the projection is killed or frozen beyond its lease.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createBus } from "../../src/bus/create-bus.js";
import { seededRandom } from "../../src/model/manual-clock.js";
import type { Store } from "../../src/ports/store.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { mongoStore } from "../../src/stores/mongo/index.js";
import { collectGarbage } from "../support/collect-garbage.js";
import { ReplicaSet } from "../support/mongo/replica-set.js";
import { ToldProcess } from "../support/told-process.js";
import { pause } from "./bus-load.js";
import { type PartOptions, type PartReport, Tally } from "./report.js";
import { SteadyLoad } from "./steady-load.js";
import { STEADY_LEASE_MS } from "./steady-projector.js";
import { TcpProxy } from "./tcp-proxy.js";

const PER_SECOND = 2_000;
const FAULT_EVERY_MS = 30_000;
/** What may come and go: buffers, connections that are being made anew. */
const HEAP_SLACK_MIB = 32;
const FILES_SLACK = 40;

export interface EnduranceOptions extends PartOptions {
  /** projecting-child, compiled. */
  readonly program: URL;
}

/** What can go wrong, by name. */
type Faults = Readonly<Record<string, () => Promise<void>>>;

export async function runMongoEndurance(options: EnduranceOptions): Promise<PartReport> {
  await using set = await ReplicaSet.start({ cacheGb: 0.5 });
  const [node] = set.nodes;
  if (node === undefined) throw new Error("a set without nodes");
  const proxy = await TcpProxy.start(node.port);
  try {
    const url = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true&socketTimeoutMS=5000`;
    const store = mongoStore({ url, db: "endurance", onWarning: () => undefined });
    return await endure(store, options, ["mongo", url], {
      "wire reset": async () => proxy.reset(),
      "wire cut": async () => {
        proxy.cut();
        await pause(500);
        proxy.mend();
      },
      "server killed": async () => {
        await node.kill();
        await set.startAll();
      },
    });
  } finally {
    await proxy.close();
  }
}

export async function runEmbeddedEndurance(options: EnduranceOptions): Promise<PartReport> {
  const folder = await mkdtemp(join(tmpdir(), "promethean-endurance-"));
  const path = join(folder, "bus.db");
  try {
    const store = embeddedStore({ path, onWarning: () => undefined });
    return await endure(store, options, ["embedded", path], {});
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function endure(
  store: Store,
  options: EnduranceOptions,
  childArgs: readonly string[],
  around: Faults,
): Promise<PartReport> {
  const tally = new Tally();
  const bus = await createBus({ store, leaseMs: STEADY_LEASE_MS, onTrouble: () => undefined });
  const load = new SteadyLoad(bus, tally, PER_SECOND);
  const second = new SecondProcess(fileURLToPath(options.program), childArgs);
  try {
    await load.start();
    await second.start();
    await loadForLong(load, options, tally, { ...second.faults, ...around });
    await load.finish();
  } finally {
    await second.end();
    await bus.close();
  }
  return tally.report();
}

async function loadForLong(
  load: SteadyLoad,
  { seed, count, untilMs = 0 }: EnduranceOptions,
  tally: Tally,
  faults: Faults,
): Promise<void> {
  const random = seededRandom(seed);
  const kinds = Object.keys(faults);
  const endMs = Math.max(untilMs, performance.now() + count * 1_000);
  const startMs = performance.now();
  await load.progress(PER_SECOND);
  const usage = [await used()];
  while (performance.now() < endMs) {
    await pause(Math.min(FAULT_EVERY_MS, (endMs - performance.now()) * (0.3 + random() / 2)));
    const kind = kinds[Math.floor(random() * kinds.length)] as string;
    await faults[kind]?.();
    tally.fault(kind);
    await load.progress(50);
    usage.push(await used());
  }
  const seconds = (performance.now() - startMs) / 1_000;
  tally.note(`${Math.round(load.acked / seconds)} publishes a second for ${Math.round(seconds)} s`);
  judgeUsage(usage, tally);
}

/** The second process, which is started again after it was killed. */
class SecondProcess {
  readonly #program: string;
  readonly #args: readonly string[];
  #process: ToldProcess<{ readonly type: "ready" }> | null = null;

  constructor(program: string, args: readonly string[]) {
    this.#program = program;
    this.#args = args;
  }

  readonly faults: Faults = {
    "process killed": async () => {
      await this.#process?.kill();
      await this.start();
    },
    // Frozen while it holds a store file, it keeps the others from writing; that ends with the freeze.
    "process frozen beyond its lease": async () => {
      this.#process?.freeze();
      await pause(STEADY_LEASE_MS * 1.5);
      this.#process?.thaw();
    },
  };

  async start(): Promise<void> {
    this.#process = new ToldProcess(this.#program, this.#args, () => undefined);
    await this.#process.seen("ready", 60_000);
  }

  async end(): Promise<void> {
    this.#process?.thaw();
    await this.#process?.kill();
  }
}

interface Usage {
  readonly heapMiB: number;
  readonly files: number;
}

function judgeUsage(usage: readonly Usage[], tally: Tally): void {
  const before = usage[0] as Usage;
  const after = usage.at(-1) as Usage;
  const atMost = Math.max(...usage.map(({ heapMiB }) => heapMiB));
  if (after.heapMiB - before.heapMiB > HEAP_SLACK_MIB)
    tally.anomaly("heap-grows", `${before.heapMiB} MiB at first, ${after.heapMiB} MiB at the end`);
  if (after.files - before.files > FILES_SLACK)
    tally.anomaly("files-grow", `${before.files} open files at first, ${after.files} at the end`);
  tally.note(
    `heap ${before.heapMiB} → ${after.heapMiB} MiB (${atMost} at most, right after faults), open files ${before.files} → ${after.files}`,
  );
}

async function used(): Promise<Usage> {
  collectGarbage();
  const heapMiB = Math.round(process.memoryUsage().heapUsed / 1_048_576);
  return { heapMiB, files: await openFiles() };
}

/** Where the system does not say, none are counted. */
async function openFiles(): Promise<number> {
  return await readdir("/proc/self/fd").then(
    (files) => files.length,
    () => 0,
  );
}
