/**
 * Measures a suite: a round or more to warm up, then rounds in which every case has its turn, so that what slows the machine
 * down for a while slows all of them down. The case that begins changes from round to round. Ratios are taken inside a
 * round, and the median of them counts.
 */
import { cpus } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Summary, summarise } from "./statistics.js";
import { watchStolenTime } from "./stolen-time.js";
import type { Absent, Case, Figure, Goal, Ratio, Suite } from "./suite.js";

/** Of a goal, whether it was met; without one neither is there. */
interface Judged extends Goal {
  readonly met?: boolean;
}

export interface FigureResult extends Judged, Summary {
  readonly name: string;
  readonly unit: string;
  readonly durability?: string;
}

export interface RatioResult extends Judged, Summary {
  readonly name: string;
}

export interface Report {
  readonly suite: string;
  readonly node: string;
  readonly machine: string;
  readonly rounds: number;
  /** Of the processors' time, what the machine's host took away; absent where that is not known. */
  readonly stolenPct?: number;
  readonly figures: readonly FigureResult[];
  readonly ratios: readonly RatioResult[];
  readonly absent?: readonly Absent[];
}

export interface RunOptions {
  readonly rounds: number;
  /** Told before each measurement. */
  readonly onProgress: (done: number, of: number, name: string) => void;
}

type Samples = ReadonlyMap<string, readonly number[]>;

/** Closes the suite, whatever happened. */
export async function runSuite(suite: Suite, { rounds, onProgress }: RunOptions): Promise<Report> {
  const { name, cases, ratios, absent = [] } = suite;
  try {
    const stolen = watchStolenTime();
    const samples = await sampled(suite, rounds, onProgress);
    const stolenPct = stolen();
    return {
      suite: name,
      node: process.versions.node,
      machine: machineName(),
      rounds,
      ...(stolenPct !== undefined && { stolenPct }),
      figures: cases.flatMap((one) => figuresOf(one).map((figure) => figureResult(one, figure, samples))),
      ratios: ratios
        .filter(({ of, to }) => !absent.some((missing) => isOf(missing, of) || isOf(missing, to)))
        .map((ratio) => ratioResult(ratio, samples)),
      ...(absent.length > 0 && { absent }),
    };
  } finally {
    await suite.close?.();
  }
}

async function sampled(
  { cases, warmUps = 1 }: Suite,
  rounds: number,
  onProgress: RunOptions["onProgress"],
): Promise<Samples> {
  const samples = new Map<string, number[]>(cases.flatMap(figuresOf).map(({ name }) => [name, []]));
  const total = (rounds + warmUps) * cases.length;
  for (let round = 0; round < rounds + warmUps; round++) {
    for (const [i, one] of inTurn(cases, round).entries()) {
      onProgress(round * cases.length + i, total, one.name);
      const values = await measure(one);
      if (round < warmUps) continue;
      for (const [f, { name }] of figuresOf(one).entries()) samples.get(name)?.push(values[f] ?? Number.NaN);
    }
  }
  return samples;
}

function isOf(missing: Absent, figure: string): boolean {
  return figure === missing.name || figure.endsWith(`: ${missing.name}`);
}

function machineName(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() || "processor";
  return `${process.platform} ${process.arch}, ${processors.length} × ${model}`;
}

function figuresOf({ name, unit, atMost, atLeast, also = [] }: Case): Figure[] {
  return [{ name, unit, ...goalOf({ atMost, atLeast }) }, ...also];
}

function inTurn(cases: readonly Case[], round: number): Case[] {
  const first = round % cases.length;
  return [...cases.slice(first), ...cases.slice(0, first)];
}

/** Nobody pays for the garbage of the one before. */
export async function measure(one: Case): Promise<readonly number[]> {
  await nextTurn();
  globalThis.gc?.();
  const measured = await one.measure();
  return typeof measured === "number" ? [measured] : measured;
}

function figureResult({ durability }: Case, figure: Figure, samples: Samples): FigureResult {
  const { name, unit } = figure;
  const summary = summarise(samples.get(name) ?? []);
  return {
    name,
    unit,
    ...(durability !== undefined && { durability }),
    ...judged(figure, summary),
    ...summary,
  };
}

function ratioResult(ratio: Ratio, samples: Samples): RatioResult {
  const { name, of, to } = ratio;
  const [above, below] = [samples.get(of), samples.get(to)];
  if (above === undefined || below === undefined) throw new Error(`the ratio "${name}" names no figure`);
  const summary = summarise(above.map((value, round) => value / (below[round] ?? Number.NaN)));
  return { name, ...judged(ratio, summary), ...summary };
}

function judged(goal: Goal, { median }: Summary): Judged {
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = goal;
  if (goal.atMost === undefined && goal.atLeast === undefined) return {};
  return { ...goalOf(goal), met: median <= atMost && median >= atLeast };
}

function goalOf({ atMost, atLeast }: { atMost?: number | undefined; atLeast?: number | undefined }): Goal {
  return { ...(atMost !== undefined && { atMost }), ...(atLeast !== undefined && { atLeast }) };
}
