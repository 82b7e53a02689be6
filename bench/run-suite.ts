/**
 * Measures a suite: a round to warm up, then rounds in which every case has its turn, so that what slows the machine
 * down for a while slows all of them down. The case that begins changes from round to round. Ratios are taken inside a
 * round, and the median of them counts.
 */
import { cpus } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Summary, summarise } from "./statistics.js";
import type { Case, Ratio, Suite } from "./suite.js";

export interface CaseResult extends Summary {
  readonly name: string;
  readonly unit: string;
}

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
  readonly cases: readonly CaseResult[];
  readonly ratios: readonly RatioResult[];
}

export interface RunOptions {
  readonly rounds: number;
  /** Told before each measurement. */
  readonly onProgress: (done: number, of: number, name: string) => void;
}

export async function runSuite(suite: Suite, { rounds, onProgress }: RunOptions): Promise<Report> {
  const samples = new Map<string, number[]>(suite.cases.map(({ name }) => [name, []]));
  const total = (rounds + 1) * suite.cases.length;
  for (let round = 0; round <= rounds; round++) {
    for (const [i, one] of inTurn(suite.cases, round).entries()) {
      onProgress(round * suite.cases.length + i, total, one.name);
      const value = await measure(one);
      if (round > 0) samples.get(one.name)?.push(value);
    }
  }
  const [cpu, ...others] = cpus();
  return {
    suite: suite.name,
    node: process.versions.node,
    machine: `${process.platform} ${process.arch}, ${others.length + 1} × ${cpu?.model.trim() || "processor"}`,
    rounds,
    cases: suite.cases.map(({ name, unit }) => ({ name, unit, ...summarise(samples.get(name) ?? []) })),
    ratios: suite.ratios.map((ratio) => ratioResult(ratio, samples)),
  };
}

function inTurn(cases: readonly Case[], round: number): Case[] {
  const first = round % cases.length;
  return [...cases.slice(first), ...cases.slice(0, first)];
}

/** Nobody pays for the garbage of the one before. */
async function measure(one: Case): Promise<number> {
  await nextTurn();
  globalThis.gc?.();
  return one.measure();
}

function ratioResult(ratio: Ratio, samples: ReadonlyMap<string, readonly number[]>): RatioResult {
  const { name, of, to, atMost, atLeast } = ratio;
  const [above, below] = [samples.get(of), samples.get(to)];
  if (above === undefined || below === undefined) throw new Error(`the ratio "${name}" names no case`);
  const summary = summarise(above.map((value, round) => value / (below[round] ?? Number.NaN)));
  const goal = { ...(atMost !== undefined && { atMost }), ...(atLeast !== undefined && { atLeast }) };
  if (Object.keys(goal).length === 0) return { name, ...summary };
  const met = summary.median <= (atMost ?? Number.POSITIVE_INFINITY) && summary.median >= (atLeast ?? 0);
  return { name, ...goal, met, ...summary };
}
