/** What is wrong with the topics and headers that a project's sources name. Pure. */
import { BusError } from "../../model/errors.js";
import {
  baseTopic,
  checkTopicName,
  checkTopicPattern,
  isDeadLetterTopic,
  isPattern,
  REDRIVE_GROUP_HEADER,
} from "../../model/topic.js";
import { SCHEMA_VERSION_HEADER, splitVersioned } from "../registry/versioned-topic.js";
import type { LintFinding } from "./finding.js";
import type { HeaderUse, Usage } from "./usages.js";

/** Headers of trace contexts, which have their names from elsewhere. */
const STANDARD: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);
const HEADER_NAME = /^x(-[a-z0-9]+)+$/;
const RESERVED = /^x-dead-letter-/;

/** Topics that a schema speaks of: by their definition, by a registration, or as `known` from elsewhere. */
export function coveredTopics(usages: readonly Usage[], known: readonly string[]): ReadonlySet<string> {
  return new Set([...known, ...usages.filter(({ hasSchema }) => hasSchema).map(({ topic }) => topic)]);
}

export function sourceFindings(usages: readonly Usage[], covered: ReadonlySet<string>): LintFinding[] {
  return [
    ...usages.flatMap(nameFindings),
    ...usages.flatMap((usage) => usage.headers.flatMap(headerFindings)),
    ...coverageFindings(usages, covered),
  ];
}

function nameFindings({ kind, topic, place }: Usage): LintFinding[] {
  const pattern = kind === "subscribe" && isPattern(topic);
  try {
    if (pattern) checkTopicPattern(topic);
    else checkTopicName(topic);
    return [];
  } catch (error) {
    const { message } = BusError.from(error);
    return [{ rule: pattern ? "topic-pattern" : "topic-name", message, topic, ...place }];
  }
}

function headerFindings({ name, value, place }: HeaderUse): LintFinding[] {
  if (name === REDRIVE_GROUP_HEADER || RESERVED.test(name)) {
    return [{ rule: "header-reserved", message: `the header ${name} is set by the bus alone`, ...place }];
  }
  if (!HEADER_NAME.test(name) && !STANDARD.has(name)) {
    const message = `the header ${JSON.stringify(name)} is not "x-" and words of lower-case letters and digits joined by "-"`;
    return [{ rule: "header-name", message, ...place }];
  }
  if (name === SCHEMA_VERSION_HEADER && value !== undefined && !/^[1-9]\d{0,8}$/.test(value)) {
    const message = `the header ${name} is a version, a whole number from 1 on, not ${JSON.stringify(value)}`;
    return [{ rule: "header-value", message, ...place }];
  }
  return [];
}

/** One finding for each topic that is published to, or defined, without any schema: where it is defined if it is. */
function coverageFindings(usages: readonly Usage[], covered: ReadonlySet<string>): LintFinding[] {
  const bare = usages.filter(
    ({ kind, topic }) =>
      (kind === "publish" || kind === "define") && isTopic(topic) && !isCovered(topic, covered),
  );
  const first = new Map<string, Usage>();
  for (const usage of bare) {
    const before = first.get(usage.topic);
    if (before === undefined || (before.kind !== "define" && usage.kind === "define"))
      first.set(usage.topic, usage);
  }
  return [...first.values()].map(({ topic, place }) => ({
    rule: "schema-missing",
    message: `"${topic}" has no schema: give its definition one, or register one`,
    topic,
    ...place,
  }));
}

function isTopic(name: string): boolean {
  try {
    checkTopicName(name);
    return true;
  } catch {
    return false;
  }
}

/** Dead letters and snapshots have a form of their own; `<topic>.vN` is spoken of by the schema of `<topic>`. */
export function isCovered(topic: string, covered: ReadonlySet<string>): boolean {
  const derived = isDeadLetterTopic(topic) || baseTopic(topic) !== topic;
  const versioned = splitVersioned(topic);
  return derived || covered.has(topic) || (versioned !== undefined && covered.has(versioned.topic));
}
