/** A report for people, and as annotations that GitHub shows beside the lines of a change. */
import type { LintFinding } from "./finding.js";
import type { LintReport } from "./lint.js";

/** A report as people read it. */
export function reportText(report: LintReport): string {
  const { findings, topics, files, unresolved, replayed, written } = report;
  const lines: string[] = [];
  let file: string | undefined;
  for (const finding of findings) {
    if (finding.file !== file || lines.length === 0) {
      if (lines.length > 0) lines.push("");
      lines.push(finding.file ?? "the project");
    }
    file = finding.file;
    const where = finding.line === undefined ? "" : `${finding.line}:${finding.column}`;
    lines.push(`  ${where.padEnd(8)}${finding.rule.padEnd(20)}${finding.message}`);
  }
  if (lines.length > 0) lines.push("");
  const covered = topics.filter(({ hasSchema }) => hasSchema).length;
  const places =
    findings.length === 0 ? "" : ` in ${count(new Set(findings.map((f) => f.file)).size, "file")}`;
  lines.push(
    `${count(findings.length, "finding")}${places}; ${count(files, "source")} read, ${count(topics.length, "topic")}, ${covered} with a schema`,
  );
  if (unresolved.length > 0)
    lines.push(`${count(unresolved.length, "call")} with a topic that is made at run time: not looked at`);
  if (replayed > 0) lines.push(`${count(replayed, "stored event")} tried`);
  if (written !== undefined) lines.push(`wrote ${written}`);
  return lines.join("\n");
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** One command of a GitHub workflow for each finding. `folder`: the project's, from the repository's root, "" if it is that. */
export function githubAnnotations(findings: readonly LintFinding[], folder = ""): string {
  const prefix = folder === "" || folder.endsWith("/") ? folder : `${folder}/`;
  return findings
    .map(({ rule, message, file, line, column }) => {
      const place =
        file === undefined
          ? []
          : [`file=${property(prefix + file)}`, `line=${line ?? 1}`, `col=${column ?? 1}`];
      return `::error ${[...place, `title=${property(`promethean ${rule}`)}`].join(",")}::${escaped(message)}`;
    })
    .join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
