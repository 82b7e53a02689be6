/**
 * Measures a suite: a round to warm up, then rounds in which every case has its turn, so that what slows the machine
 * down for a while slows all of them down. The case that begins changes from round to round. Ratios are taken inside a
 * round, and the median of them counts.
 */
import { cpus } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Summary, summarise } from "./statistics.js";
import type { Case, Figure, Ratio, Suite } from "./suite.js";

export type FigureResult = Figure & Summary;

export interface RatioResult extends Summary {
  readonly name: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** Absent if there is no goal. */
  readonly met?: boolean;
}

export interface Report {
  readonly suite: string;
  readonly node: string;
  readonly machine: string;
  readonly rounds: number;
  readonly figures: readonly FigureResult[];
  readonly ratios: readonly RatioResult[];
}

export interface RunOptions {
  readonly rounds: number;
  /** Told before each measurement. */
  readonly onProgress: (done: number, of: number, name: string) => void;
}

export async function runSuite(suite: Suite, { rounds, onProgress }: RunOptions): Promise<Report> {
  const figures = suite.cases.flatMap(figuresOf);
  const samples = new Map<string, number[]>(figures.map(({ name }) => [name, []]));
  const total = (rounds + 1) * suite.cases.length;
  for (let round = 0; round <= rounds; round++) {
    for (const [i, one] of inTurn(suite.cases, round).entries()) {
      onProgress(round * suite.cases.length + i, total, one.name);
      const values = await measure(one);
      if (round === 0) continue;
      for (const [f, { name }] of figuresOf(one).entries()) samples.get(name)?.push(values[f] ?? Number.NaN);
    }
  }
  return {
    suite: suite.name,
    node: process.versions.node,
    machine: machineName(),
    rounds,
    figures: figures.map(({ name, unit }) => ({ name, unit, ...summarise(samples.get(name) ?? []) })),
    ratios: suite.ratios.map((ratio) => ratioResult(ratio, samples)),
  };
}

function machineName(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() || "processor";
  return `${process.platform} ${process.arch}, ${processors.length} × ${model}`;
}

function figuresOf({ name, unit, also = [] }: Case): Figure[] {
  return [{ name, unit }, ...also];
}

function inTurn(cases: readonly Case[], round: number): Case[] {
  const first = round % cases.length;
  return [...cases.slice(first), ...cases.slice(0, first)];
}

/** Nobody pays for the garbage of the one before. */
async function measure(one: Case): Promise<readonly number[]> {
  await nextTurn();
  globalThis.gc?.();
  const measured = await one.measure();
  return typeof measured === "number" ? [measured] : measured;
}

function ratioResult(ratio: Ratio, samples: ReadonlyMap<string, readonly number[]>): RatioResult {
  const { name, of, to, atMost, atLeast } = ratio;
  const [above, below] = [samples.get(of), samples.get(to)];
  if (above === undefined || below === undefined) throw new Error(`the ratio "${name}" names no figure`);
  const summary = summarise(above.map((value, round) => value / (below[round] ?? Number.NaN)));
  const goal = { ...(atMost !== undefined && { atMost }), ...(atLeast !== undefined && { atLeast }) };
  if (Object.keys(goal).length === 0) return { name, ...summary };
  const met = summary.median <= (atMost ?? Number.POSITIVE_INFINITY) && summary.median >= (atLeast ?? 0);
  return { name, ...goal, met, ...summary };
}
