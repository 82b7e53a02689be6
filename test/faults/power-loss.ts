/**
 * Power loss on the embedded store (P1): a process publishes under strace; from its write log, disks are made as they may
 * be found after the power went at any moment (write-log.ts). Each must open, hold every event that was acknowledged
 * by then where it was acknowledged, without a gap (P2), with a view that is what its log says (P9), and take new events. A topic that
 * was removed is gone, or can be removed, and gives no seq twice (P2).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { BusError } from "../../src/model/errors.js";
import { seededRandom } from "../../src/model/manual-clock.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { judgeDisk } from "./disk-judge.js";
import { type DiskLine, isAck, linesIn, TOPIC } from "./disk-names.js";
import { judgePassing } from "./passing-judge.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";
import { Disk, type FileOp, parseTrace } from "./write-log.js";

export interface DiskOptions extends PartOptions {
  /** disk-child, compiled. */
  readonly program: URL;
  /** "os": the store promises nothing about power, and images must show it; so the judge is judged. */
  readonly durability?: "sync" | "os";
  /** Whether the process has the file for itself, and appends may go ahead. */
  readonly exclusive?: boolean;
}

/** Calls that change files or sync them; SQLite uses no others. */
const WATCHED = "pwrite64,write,ftruncate,fsync,fdatasync,unlink,openat";

/** Of this share of the images the whole file is checked, which takes as long as all the rest. */
const THOROUGH = 0.2;

export async function runPowerLoss(options: DiskOptions): Promise<PartReport> {
  const tally = new Tally();
  const random = seededRandom(options.seed);
  const root = await mkdtemp(join(tmpdir(), "promethean-power-"));
  try {
    for (let done = 0, life = 0; goesOn(options, done); life++) {
      const folder = join(root, `run${life}`);
      await mkdir(folder);
      const ops = await record(folder, options);
      // Enough cuts that each log is seen at many moments, few enough that there are several logs in a long run.
      const share = done < options.count ? Math.min(250, options.count - done) : 50;
      done += await cutOften({ ops, folder, root, share, random, tally });
    }
    return tally.report();
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Runs the writing process and gives back what it did to its files. */
async function record(
  folder: string,
  { program, durability = "sync", exclusive = false }: DiskOptions,
): Promise<FileOp[]> {
  const path = join(folder, "bus.db");
  const trace = join(folder, "trace");
  const acks = join(folder, "acks");
  const watched = [path, `${path}-wal`, `${path}-ahead`, acks, folder].flatMap((one) => ["-P", one]);
  const command = [
    process.execPath,
    fileURLToPath(program),
    path,
    acks,
    "3",
    "25",
    durability,
    useOf(exclusive),
  ];
  const args = ["-f", "-y", "-xx", "-s", "1000000", "-o", trace, "-e", `trace=${WATCHED}`, ...watched];
  const child = spawn("strace", [...args, ...command], { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`the watched process ended with ${code}: ${errors}`);
  return parseTrace(await readFile(trace, "latin1"));
}

export function useOf(exclusive: boolean): string {
  return exclusive ? "exclusive" : "shared";
}

interface Cuts {
  readonly ops: readonly FileOp[];
  readonly folder: string;
  readonly root: string;
  readonly share: number;
  readonly random: () => number;
  readonly tally: Tally;
}

/** Walks through the log once and loses the power at `share` moments of it. */
async function cutOften({ ops, folder, root, share, random, tally }: Cuts): Promise<number> {
  const ackFile = join(folder, "acks");
  const moments = Array.from({ length: share }, () => Math.floor(random() * ops.length)).sort(
    (a, b) => a - b,
  );
  const disk = new Disk(folder);
  const lines: DiskLine[] = [];
  let at = 0;
  for (const moment of moments) {
    for (; at <= moment; at++) {
      const op = ops[at] as FileOp;
      if (op.type === "write" && op.file === ackFile) lines.push(...linesIn(op.bytes.toString()));
      else disk.apply(op);
    }
    tally.fault("power loss");
    tally.fault("sectors not synced", disk.loose);
    const place = await mkdtemp(join(root, "image-"));
    await judgeImage(place, disk.image(random), lines, tally, random() < THOROUGH);
    await rm(place, { recursive: true, force: true });
  }
  return share;
}

async function judgeImage(
  place: string,
  image: ReadonlyMap<string, Buffer>,
  lines: readonly DiskLine[],
  tally: Tally,
  isThorough: boolean,
): Promise<void> {
  const acked = lines.filter(isAck);
  for (const [file, bytes] of image) await writeFile(join(place, basename(file)), bytes);
  const store = embeddedStore({ path: join(place, "bus.db"), onWarning: () => undefined });
  let bus: Bus;
  try {
    bus = await createBus({ store, onTrouble: () => undefined });
  } catch (error) {
    const { code, message } = BusError.from(error);
    tally.anomaly("does-not-open", `with ${acked.length} acknowledged events: ${code} ${message}`);
    return;
  }
  try {
    tally.checked("images opened");
    tally.checked("acknowledged events looked for", acked.length);
    if (acked.length === 0 && (await store.registry.topic(TOPIC)) === null) return;
    for (const anomaly of await judgeDisk(store, acked)) tally.anomaly(anomaly.class, anomaly.says);
    await judgePassing(bus, lines, tally);
    if (isThorough)
      for (const problem of (await store.check()).problems) tally.anomaly("unsound", JSON.stringify(problem));
  } finally {
    await bus.close();
  }
}
