/** How often a property is tried: `SCHEMA_RUNS=20` tries twenty times as often, for a long night. */
export function runs(usual: number): number {
  return Math.ceil(usual * Number(process.env.SCHEMA_RUNS ?? 1));
}

/** A busy machine takes its time. */
export const PROPERTY_TIMEOUT_MS = 120_000;
