/** Counts per version of a schema, as Prometheus reads them. */
import { Counter, type Registry } from "prom-client";
import type { SchemaSeries } from "./schema-series.js";

export function addSchemaCounters(registers: Registry[], series: SchemaSeries): void {
  new Counter({
    name: "events_validated_total",
    help: "Payloads held against the schema of their topic, by version and outcome",
    labelNames: ["topic", "version", "outcome"],
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of series.validated) this.inc(labels, count);
    },
  });
  new Counter({
    name: "events_normalized_total",
    help: "Events brought to the newest version for a reader, by the version they were written in",
    labelNames: ["topic", "group", "version"],
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of series.normalized) this.inc(labels, count);
    },
  });
}
