/** What the lint finds: a rule, a place, and what is wrong in words. */
import type { Place } from "./project.js";

/**
 * - `topic-name`, `topic-pattern`: not one.
 * - `header-name`, `header-value`, `header-reserved`: headers are `x-…` in lower case, and some are set by the bus alone.
 * - `schema-missing`: events are published to a topic that no schema speaks of.
 * - `schema-load`: the module with the schemas cannot be loaded, or refuses itself.
 * - `schema-changed`: a version that was released says something else now.
 * - `schema-order`: a version comes after a higher one was released.
 * - `schema-incompatible`, `schema-unknown`: a new version breaks its compat, or it cannot be told whether it does.
 * - `upcast-missing`: a version has no step onwards, and the next does not take what it wrote.
 * - `event-fails`: a stored event does not come through the upcasts and the new schema.
 */
export type LintRule =
  | "topic-name"
  | "topic-pattern"
  | "header-name"
  | "header-value"
  | "header-reserved"
  | "schema-missing"
  | "schema-load"
  | "schema-changed"
  | "schema-order"
  | "schema-incompatible"
  | "schema-unknown"
  | "upcast-missing"
  | "event-fails";

/** Something that the lint objects to, and where. */
export interface LintFinding extends Partial<Place> {
  readonly rule: LintRule;
  readonly message: string;
  readonly topic?: string;
  readonly version?: number;
  /** Facts for programs: paths, a counter-example, the event. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** By file and place, each once; findings without a place come last. */
export function inOrder(findings: readonly LintFinding[]): LintFinding[] {
  const key = ({
    file,
    line = 0,
    column = 0,
    rule,
    message,
  }: LintFinding): [string, number, number, string] => [file ?? "\uffff", line, column, `${rule} ${message}`];
  const unique = new Map(findings.map((finding) => [JSON.stringify(key(finding)), finding]));
  return [...unique.values()].sort((a, b) => {
    const [one, other] = [key(a), key(b)];
    const at = one.findIndex((part, i) => part !== other[i]);
    return at < 0 ? 0 : (one[at] as string) < (other[at] as string) ? -1 : 1;
  });
}
