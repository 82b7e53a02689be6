/** Counts per version of a schema: which versions are still written, and which are still read. */
import { Counter, type Registry } from "prom-client";
import type { Meter } from "../model/meter.js";

export function schemaMeter(registers: Registry[]): Required<Pick<Meter, "validated" | "normalized">> {
  const validated = new Counter({
    name: "events_validated_total",
    help: "Payloads held against the schema of their topic, by version and outcome",
    labelNames: ["topic", "version", "outcome"],
    registers,
  });
  const normalized = new Counter({
    name: "events_normalized_total",
    help: "Events brought to the newest version for a reader, by the version they were written in",
    labelNames: ["topic", "group", "version"],
    registers,
  });
  return {
    validated: (topic, version, outcome) =>
      validated.inc({ topic, version: String(version ?? "none"), outcome }),
    normalized: (topic, group, version) =>
      normalized.inc({ topic, group, version: String(version ?? "none") }),
  };
}
