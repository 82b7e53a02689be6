/**
 * Calls that fail under the embedded store (P14): strace makes the Nth write, sync or truncation of its files fail, once
 * or for a while, with EIO or ENOSPC. The process must live, what it acknowledged must be there afterwards, and the store
 * must go on by itself once the device does.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createBus } from "../../src/bus/create-bus.js";
import { BusError } from "../../src/model/errors.js";
import { seededRandom } from "../../src/model/manual-clock.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { judgeDisk } from "./disk-judge.js";
import { type DiskLine, isAck, linesIn, TOPIC } from "./disk-names.js";
import { judgePassing } from "./passing-judge.js";
import { type DiskOptions, useOf } from "./power-loss.js";
import { goesOn, type PartReport, Tally } from "./report.js";

const CALLS = ["pwrite64", "fsync,fdatasync", "ftruncate", "pwrite64", "fsync,fdatasync"];
/** About as many as a run makes, so that a blow may fall anywhere in it. */
const REACH: Readonly<Record<string, number>> = { pwrite64: 400, "fsync,fdatasync": 90, ftruncate: 6 };
const ERRORS = ["EIO", "ENOSPC"];

interface Blow {
  readonly call: string;
  readonly error: string;
  readonly first: number;
  /** How many in a row. */
  readonly times: number;
}

export async function runWriteErrors(options: DiskOptions): Promise<PartReport> {
  const tally = new Tally();
  const random = seededRandom(options.seed);
  for (let round = 0; goesOn(options, round); round++) {
    const call = CALLS[round % CALLS.length] as string;
    const blow: Blow = {
      call,
      error: ERRORS[Math.floor(random() * ERRORS.length)] as string,
      first: 1 + Math.floor(random() * (REACH[call] ?? 10)),
      times: random() < 0.5 ? 1 : 1 + Math.floor(random() * 20),
    };
    const folder = await mkdtemp(join(tmpdir(), "promethean-errors-"));
    try {
      await strike(folder, blow, options, tally);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return tally.report();
}

async function strike(
  folder: string,
  blow: Blow,
  { program, exclusive = false }: DiskOptions,
  tally: Tally,
): Promise<void> {
  const path = join(folder, "bus.db");
  const acks = join(folder, "acks");
  const { call, error, first, times } = blow;
  const says = `${call} ${error} at ${first} for ${times}`;
  const args = [
    ...["-f", "-o", join(folder, "trace"), "-P", path, "-P", `${path}-wal`, "-P", `${path}-ahead`],
    ...["-e", `trace=${call}`, "-e", `inject=${call}:error=${error}:when=${first}..${first + times - 1}`],
  ];
  const command = [process.execPath, fileURLToPath(program), path, acks, "2", "25", "sync", useOf(exclusive)];
  const child = spawn("strace", [...args, ...command], { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  const struck = (await readFile(join(folder, "trace"), "latin1")).split("(INJECTED)").length - 1;
  tally.fault(`${call}: ${error}`, struck);
  const lines = linesIn(await readFile(acks, "utf8").catch(() => ""));
  // A store that cannot even be made may say so and end; one that was open lives on.
  const began = lines.some((line) => !("passing" in line) || line.passing !== "asked");
  if (code !== 0 && (began || !/STORE_|OUTCOME_UNKNOWN/.test(errors)))
    tally.anomaly("process-ended", `${says}: ended with ${code}: ${errors.slice(-400)}`);
  await judgeAfter(path, lines, says, tally);
}

async function judgeAfter(
  path: string,
  lines: readonly DiskLine[],
  says: string,
  tally: Tally,
): Promise<void> {
  const acked = lines.filter(isAck);
  const failed = lines.filter((line) => "failed" in line);
  const kept = lines.filter((line) => "code" in line);
  tally.checked("acknowledged events looked for", acked.length);
  tally.checked("publishes refused, honestly", failed.length);
  tally.checked("removals that failed, honestly", kept.filter(({ code }) => HONEST.test(code)).length);
  const odd = [
    ...failed.filter((line) => !HONEST.test(line.failed)),
    ...kept.filter(({ code }) => !HONEST.test(code) && !EXPECTED.test(code)),
  ];
  if (odd.length > 0) tally.anomaly("wrong-error", `${says}: ${JSON.stringify(odd[0])}`);
  // The device is well again: a process that lived on has tried until its last publish went through.
  const last = lines.at(-1);
  if (last !== undefined && "failed" in last)
    tally.anomaly("stalled", `${says}: nothing went through any more: ${JSON.stringify(last)}`);
  const store = embeddedStore({ path, onWarning: () => undefined });
  const found = new Tally();
  try {
    const bus = await createBus({ store, onTrouble: () => undefined });
    try {
      if (acked.length === 0 && (await store.registry.topic(TOPIC)) === null) return;
      for (const { class: name, says: what } of await judgeDisk(store, acked)) found.anomaly(name, what);
      await judgePassing(bus, lines, found);
      for (const problem of (await store.check()).problems) found.anomaly("unsound", JSON.stringify(problem));
    } finally {
      await bus.close();
    }
  } catch (error) {
    found.anomaly("does-not-open", BusError.from(error).message);
  }
  const { anomalies, ...rest } = found.report();
  tally.add({ ...rest, anomalies: anomalies.map((one) => ({ ...one, says: `${says}: ${one.says}` })) });
}

const HONEST = /^(STORE_UNAVAILABLE|STORE_FULL|OUTCOME_UNKNOWN|STORE_LOCKED|CLOSED)$/;
/** Of a removal that was stopped, or had a publish beside it. */
const EXPECTED = /^(ABORTED|WRITE_CONFLICT)$/;
