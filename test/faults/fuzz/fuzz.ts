/**
 * Sends each kind of input what nobody would, and judges the answers: taken rightly, or refused with a code that belongs to
 * it. Never another error (a crash in a hub's terms: a 500), never a change to the prototypes that all objects share, never
 * seconds for one input.
 */
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { HubError } from "../../../src/hub/problem.js";
import { BusError } from "../../../src/model/errors.js";
import { memoryStore } from "../../../src/stores/memory/index.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "../report.js";
import { cloudEvents, frames, lines, payloads, schemas } from "./bodies.js";
import { rights, topicNames, topicPatterns } from "./names.js";
import { Noise } from "./noise.js";
import { cursors, filters } from "./queries.js";
import { tokens } from "./tokens.js";

export interface Ground {
  readonly bus: Bus;
  readonly view: string;
}

export interface Kind {
  readonly name: string;
  /** Codes that an input may be refused with. */
  readonly codes: readonly string[];
  make(noise: Noise): unknown;
  /** Takes it, or throws: an error with a code is a refusal, any other is a finding. */
  run(input: unknown, ground: Ground): unknown;
  /** What is wrong with refusing this one, if anything is. */
  refused?(input: unknown): string | undefined;
}

export const KINDS: readonly Kind[] = [
  ...[topicNames, topicPatterns, rights, tokens, cursors, filters],
  ...[lines, cloudEvents, payloads, schemas, frames],
];
/** Far more than any input takes, on a machine with other work. */
const SLOW_MS = 5_000;
const VIEW = "things";

export async function runFuzz(options: PartOptions): Promise<PartReport> {
  const tally = new Tally();
  const innocent = sharedProperties();
  const share = (untilMs: number, left: number): number =>
    performance.now() + Math.max(0, untilMs - performance.now()) / left;
  for (const [i, kind] of KINDS.entries()) {
    const untilMs = share(options.untilMs ?? 0, KINDS.length - i);
    await fuzzKind(kind, { ...options, seed: options.seed + i * 1_000_003, untilMs }, tally);
    if (sharedProperties() !== innocent)
      tally.anomaly("prototype-changed", `${kind.name}: what all objects share is not what it was`);
  }
  return tally.report();
}

async function fuzzKind(kind: Kind, options: PartOptions, tally: Tally): Promise<void> {
  const noise = new Noise(options.seed);
  const ground = await newGround();
  for (let round = 0; goesOn(options, round); round++) {
    const input = kind.make(noise);
    tally.fault(kind.name);
    const startMs = performance.now();
    const wrong = await judged(kind, input, ground);
    if (wrong === "taken" || wrong === "refused") tally.checked(wrong);
    else tally.anomaly("wrong-answer", `${kind.name}: ${wrong}: ${describe(input)}`);
    if (performance.now() - startMs > SLOW_MS) tally.anomaly("slow", `${kind.name}: ${describe(input)}`);
    if (round % 1_000 === 999) await ground.bus.store.log.trim("a", 0, Number.MAX_SAFE_INTEGER);
  }
  await ground.bus.close();
}

async function judged(kind: Kind, input: unknown, ground: Ground): Promise<string> {
  try {
    await kind.run(input, ground);
    return "taken";
  } catch (error) {
    const code = error instanceof BusError || error instanceof HubError ? error.code : undefined;
    if (code === undefined) return error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (!kind.codes.includes(code)) return `refused with ${code} ${(error as Error).message}`;
    return kind.refused?.(input) ?? "refused";
  }
}

async function newGround(): Promise<Ground> {
  const bus = await createBus({ store: memoryStore(), topics: [{ name: "a", partitions: 1 }] });
  await bus.publish("a", { n: 1 }, { id: "x" });
  const fields = [{ n: 1, text: "x" }, { n: 2 }, { text: "y", a: { b: 1 } }];
  await bus.store.documents.write(
    VIEW,
    fields.map((one, i) => ({ op: "upsert", key: `k${i}`, ts: i, fields: one })),
  );
  return { bus, view: VIEW };
}

function sharedProperties(): string {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype]
    .map((shared) => Reflect.ownKeys(shared).map(String).join())
    .join("|");
}

function describe(input: unknown): string {
  const text = typeof input === "object" ? JSON.stringify(input) : String(input);
  return (text ?? "").slice(0, 400);
}
