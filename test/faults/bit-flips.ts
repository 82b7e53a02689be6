/**
 * Bits that turn on the disk, under a store file that nobody has open (P14): whatever is then read from the log is what
 * was written, or the store says that it is damaged. What it does not notice at once, a check of the file finds. Every third file is
 * a small one of a topic that was removed and one that came back: nothing of before is read there, and no seq is free again (P2).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createBus } from "../../src/bus/create-bus.js";
import { seededRandom } from "../../src/model/manual-clock.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { Connection } from "../../src/stores/embedded/sqlite.js";
import { PARTITIONS, PASSING, TOPIC } from "./disk-names.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";

const EVENTS = 150;
const KEYS = 7;
/**
 * Answers that come by an index. The events in them are checked, the index is not: an entry that is hit is not found, and
 * an older one may take its place. A check of the whole file must find that.
 */
const INDEXED = ["history by key", "latest by key", "by id"];
/** What a damaged file may be called: damaged, or not a store at all if its head is hit. */
const HONEST = ["STORE_DAMAGED", "STORE_INCOMPATIBLE"];

/** An answer of the registry, and one of what partitions say of themselves. */
const BOOKKEEPING = ["heads", "topics", "ends of what was removed"];

type Answers = readonly (readonly [name: string, answer: string])[];

export interface FlipOptions extends PartOptions {
  /** flip-child, compiled. */
  readonly program: URL;
}

export async function runBitFlips(options: FlipOptions): Promise<PartReport> {
  const tally = new Tally();
  const random = seededRandom(options.seed);
  const reader = new FlipReader(options.program);
  const folder = await mkdtemp(join(tmpdir(), "promethean-flips-"));
  try {
    const path = join(folder, "bus.db");
    const large = await soundFile(join(folder, "large.db"), fill, reader);
    const removed = await soundFile(join(folder, "removed.db"), fillAndRemove, reader);
    for (let round = 0; goesOn(options, round); round++) {
      const { sound, wanted, registry } = round % 3 === 2 ? removed : large;
      const bytes = Buffer.from(sound);
      const [from, to] = round % 6 === 2 ? pick(registry, random) : [0, bytes.length];
      const at = from + aim(bytes.subarray(from, to), random);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      await writeFile(path, bytes);
      for (const name of [`${path}-wal`, `${path}-shm`]) await rm(name, { force: true });
      tally.fault("bit turned");
      const found = await reader.look(path);
      if (typeof found === "string") {
        // The engine stops the process when a text is no longer UTF-8: nothing is served, at least.
        if (/panicked/.test(found)) tally.checked("flips at which the engine ended the process");
        else tally.anomaly("process-ended", `byte ${at}: ${found}`);
      } else judge(found, wanted, at, tally);
    }
    return tally.report();
  } finally {
    await reader.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface SoundFile {
  readonly sound: Buffer;
  readonly wanted: ReadonlyMap<string, string>;
  /** Where the names of topics are, and the ends of partitions. */
  readonly registry: readonly (readonly [from: number, to: number])[];
}

async function soundFile(
  path: string,
  make: (path: string) => Promise<void>,
  reader: FlipReader,
): Promise<SoundFile> {
  await make(path);
  const sound = await readFile(path);
  const answers = await reader.look(path);
  if (typeof answers === "string") throw new Error(`the sound file cannot be read: ${answers}`);
  return { sound, wanted: new Map(answers), registry: registryOf(path) };
}

function registryOf(path: string): [from: number, to: number][] {
  const connection = new Connection(path, { busyTimeoutMs: 1_000 });
  try {
    const [size = 0] = connection.sql("PRAGMA page_size").get<[number]>() ?? [];
    const pages = connection
      .sql("SELECT rootpage FROM sqlite_master WHERE name IN ('topic', 'part')")
      .all<[number]>()
      .flat();
    return pages.map((page) => [(page - 1) * size, page * size]);
  } finally {
    connection.close();
  }
}

function pick<T>(from: readonly T[], random: () => number): T {
  return from[Math.floor(random() * from.length)] as T;
}

/** Mostly where something is written: pages have much empty room. */
function aim(bytes: Buffer, random: () => number): number {
  for (let tries = 0; ; tries++) {
    const at = Math.floor(random() * bytes.length);
    if (bytes[at] !== 0 || tries > 20) return at;
  }
}

async function fill(path: string): Promise<void> {
  const bus = await createBus({
    store: embeddedStore({ path }),
    topics: [{ name: TOPIC, partitions: PARTITIONS, keyed: true }],
  });
  for (let n = 1; n <= EVENTS; n++) {
    const payload = { n, text: `${n} `.repeat((n * 7) % 60) };
    await bus.publish(TOPIC, payload, { id: `f${n}`, key: `k${n % KEYS}` });
  }
  await bus.close();
}

/** One topic that is gone, one that came back. */
async function fillAndRemove(path: string): Promise<void> {
  const topics = [TOPIC, PASSING].map((name) => ({ name, partitions: PARTITIONS, keyed: true }));
  const bus = await createBus({ store: embeddedStore({ path }), topics });
  const publish = (name: string, n: number): Promise<unknown> =>
    bus.publish(name, { n }, { id: name === TOPIC ? `f${n}` : `p${n}`, key: `k${n % KEYS}` });
  for (let n = 1; n <= 20; n++) for (const { name } of topics) await publish(name, n);
  for (const { name } of topics) await bus.admin.removeTopic(name);
  for (let n = 1; n <= 11; n++) await publish(TOPIC, n);
  await bus.close();
}

/** A process that reads files one by one; started again when a file was its end. */
class FlipReader {
  readonly #program: string;
  #child: ChildProcess | undefined;
  #lines: AsyncIterator<string> | undefined;
  #errors = "";

  constructor(program: URL) {
    this.#program = fileURLToPath(program);
  }

  /** What it found, or how it ended. */
  async look(path: string): Promise<Answers | string> {
    const { child, lines } = this.#start();
    child.stdin?.write(`${path}\n`);
    const { value, done } = await lines.next();
    if (done !== true) {
      const answers = JSON.parse(value) as Answers;
      // A connection lingers in its process until it is collected, and shares what it knows with the next one of the same path:
      // after a file that could not be opened, and was left as it was, that would be wrong.
      if (answers[0]?.[0] === "open") await this.close();
      return answers;
    }
    this.#child = undefined;
    return this.#errors.slice(0, 300);
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const ended = once(child, "close");
    child.stdin?.end();
    await ended;
  }

  #start(): { child: ChildProcess; lines: AsyncIterator<string> } {
    if (this.#child === undefined || this.#lines === undefined) {
      this.#errors = "";
      this.#child = spawn(process.execPath, [this.#program], { stdio: ["pipe", "pipe", "pipe"] });
      this.#child.stdin?.on("error", () => undefined);
      this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        this.#errors += text;
      });
      const input = this.#child.stdout as NodeJS.ReadableStream;
      this.#lines = createInterface({ input })[Symbol.asyncIterator]();
    }
    return { child: this.#child, lines: this.#lines };
  }
}

function judge(answers: Answers, wanted: ReadonlyMap<string, string>, at: number, tally: Tally): void {
  let outcome = "flips without effect";
  const check = answers.find(([name]) => name === "check")?.[1];
  for (const [name, answer] of answers) {
    if (name === "check") continue;
    tally.checked("answers compared");
    const expected = wanted.get(name) ?? "";
    if (answer === expected) continue;
    const code = /^error (\w+)/.exec(answer)?.[1];
    const isBookkeeping =
      code === undefined &&
      (BOOKKEEPING.includes(name) || (INDEXED.includes(name) && isSound(answer, wanted)));
    if (isBookkeeping && check !== "[]") outcome = "flips found by a check of the file";
    else if (code === undefined && isHarmless(name, answer, expected))
      outcome = "flips by which a removed topic is there again, empty";
    else if (code === undefined)
      tally.anomaly("silent-damage", `byte ${at}, ${name}: ${difference(answer, expected)}`);
    else if (HONEST.includes(code)) outcome = "flips found";
    else tally.anomaly("wrong-error", `byte ${at}, ${name}: ${answer.slice(0, 200)}`);
  }
  if (outcome === "flips without effect" && check !== "[]") outcome = "flips found by a check of the file";
  tally.checked(outcome);
}

/** A topic that counts as written to since it was removed: nothing is lost by that, and no seq is free again. */
function isHarmless(name: string, answer: string, wanted: string): boolean {
  if (name === "topics")
    return answer === JSON.stringify([TOPIC, PASSING].sort()) && !wanted.includes(PASSING);
  if (name !== "ends of what was removed") return false;
  type Ends = { head: number; events: number }[];
  const [found, before] = [answer, wanted].map((text) => JSON.parse(text) as Ends) as [Ends, Ends];
  return found.every(({ head, events }, i) => head >= (before[i]?.head ?? 0) && events === 0);
}

/** Whether every event in an answer is one of the log, as it was written. */
function isSound(answer: string, wanted: ReadonlyMap<string, string>): boolean {
  const logs = [...wanted].filter(([name]) => name.startsWith("log ")).map(([, log]) => log.slice(1, -1));
  const given = (JSON.parse(answer) as unknown[]).filter((entry) => entry !== null);
  // Latest by key: pairs of a key and its event.
  const events = given.map((entry) => (Array.isArray(entry) ? (entry[1] as unknown) : entry));
  return events.every((event) => logs.some((log) => log.includes(JSON.stringify(event))));
}

function difference(answer: string, wanted: string): string {
  let at = 0;
  while (at < answer.length && answer[at] === wanted[at]) at++;
  const from = Math.max(0, at - 40);
  return `…${answer.slice(from, at + 40)}… instead of …${wanted.slice(from, at + 40)}…`;
}
