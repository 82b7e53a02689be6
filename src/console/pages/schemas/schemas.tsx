/** Schemas: which topics have one, or the versions of one topic's. */
import type { PageProps } from "../page-props.js";
import { SchemaList } from "./schema-list.js";
import { SchemaVersions } from "./schema-versions.js";

export function SchemasPage({ rest }: PageProps) {
  const [topic] = rest;
  return topic === undefined ? <SchemaList /> : <SchemaVersions key={topic} topic={topic} />;
}
