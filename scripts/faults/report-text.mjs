/** The report of a fault run for people. */

const SHOWN = 20;

export function textOf({ command, seed, seconds, parts }) {
  const lines = [`${command} (seed ${seed}, ${seconds} s)`, ""];
  for (const part of parts) lines.push(...partLines(part), "");
  const anomalies = parts.flatMap((part) => part.anomalies);
  lines.push(
    `${total(parts, "faults")} faults, ${total(parts, "checked")} things checked, ${anomalies.length} anomalies`,
  );
  for (const [name, count] of byClass(anomalies)) lines.push(`  ${name}: ${count}`);
  return `${lines.join("\n")}\n`;
}

function partLines({ name, says, unit, count, seconds, faults, checked, anomalies, notes }) {
  const shown = anomalies.slice(0, SHOWN).map(({ class: kind, says: what }) => `    ${kind}: ${what}`);
  return [
    `${name}: ${says}`,
    `  ${count} ${unit}, ${seconds} s, ${anomalies.length === 0 ? "no anomaly" : `${anomalies.length} ANOMALIES`}`,
    ...(Object.keys(faults).length > 12
      ? [`  faults: ${sum(faults)} of ${Object.keys(faults).length} kinds`]
      : [`  faults: ${counts(faults)}`]),
    `  checked: ${counts(checked)}`,
    ...notes.map((note) => `  ${note}`),
    ...shown,
  ];
}

function counts(figures) {
  const entries = Object.entries(figures).map(([kind, times]) => `${kind} ${times}`);
  return entries.length === 0 ? "none" : entries.join(", ");
}

function total(parts, field) {
  return parts.reduce((all, part) => all + sum(part[field]), 0);
}

function sum(figures) {
  return Object.values(figures).reduce((all, one) => all + one, 0);
}

function byClass(anomalies) {
  const counted = new Map();
  for (const { class: name } of anomalies) counted.set(name, (counted.get(name) ?? 0) + 1);
  return counted;
}
