/** The versions of a topic's schema, any two side by side, with the difference and the verdict. */
import { CircleCheck, CircleHelp, OctagonX } from "lucide-preact";
import { seg, withQuery } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { CompatReport, EventRecord, Items, TopicSchemas } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { CopyCommand } from "../../ui/copy.js";
import { SelectField } from "../../ui/fields.js";
import { count, plural, shellWord } from "../../ui/format.js";
import { JsonView } from "../../ui/json-view.js";
import { Ago } from "../../ui/now.js";
import { PageHead, Section } from "../../ui/page.js";
import { query, setQuery, to } from "../../ui/router.js";
import { Empty, Loaded } from "../../ui/states.js";
import { fieldChanges } from "./field-changes.js";

export function SchemaVersions({ topic }: { readonly topic: string }) {
  const live = useLive<TopicSchemas>(`/schemas/${seg(topic)}`, 15_000);
  return (
    <>
      <PageHead
        title={topic}
        mono
        crumbs={[{ label: "Schemas", href: to("schemas") }]}
        badges={live.data?.latest != null && <Badge>v{live.data.latest} is the newest</Badge>}
        actions={<CopyCommand command={`promethean schema status ${shellWord(topic)}`} />}
      />
      <Loaded live={live}>
        {(schemas) =>
          schemas.versions.length === 0 ? (
            <Section>
              <Empty
                title="This topic has no schema"
                command={`promethean schema register ${shellWord(topic)} schema.json`}
              >
                Any JSON can be published to it. With a schema, what does not fit is refused with the place
                and the reason.
              </Empty>
            </Section>
          ) : (
            <Versions schemas={schemas} />
          )
        }
      </Loaded>
    </>
  );
}

function Versions({ schemas }: { readonly schemas: TopicSchemas }) {
  const { versions, topic } = schemas;
  const newest = versions.at(-1)?.version ?? 1;
  const wanted = (name: string, fallback: number): number => {
    const number = Number(query(name) ?? fallback);
    return versions.some(({ version }) => version === number) ? number : fallback;
  };
  const right = wanted("to", newest);
  const left = wanted("from", versions.at(-2)?.version ?? newest);
  const older = versions.find(({ version }) => version === left);
  const newer = versions.find(({ version }) => version === right);
  const choices = versions.map(({ version, compat }) => ({
    value: String(version),
    label: `v${version} · ${compat}`,
  }));
  const path = left === right ? null : withQuery(`/schemas/${seg(topic)}/compat`, { from: left, to: right });
  const verdict = useLive<CompatReport>(path, Number.POSITIVE_INFINITY).data;
  return (
    <div class="flex flex-col gap-4">
      {verdict !== undefined && <Verdict report={verdict} from={left} to={right} />}
      {left !== right && <Changes older={older?.schema} newer={newer?.schema} />}
      <div class="grid gap-4 lg:grid-cols-2">
        {left !== right && (
          <Section
            title={`Version ${left}`}
            note={older && <Ago ts={older.createdMs} />}
            actions={
              <SelectField
                bare
                label="Older version"
                value={String(left)}
                choices={choices}
                onChange={(from) => setQuery({ from })}
              />
            }
          >
            <div class="p-4">
              <JsonView value={older?.schema} label={`schema version ${left}`} maxHeight="max-h-[34rem]" />
            </div>
          </Section>
        )}
        <Section
          title={`Version ${right}`}
          note={newer && <Ago ts={newer.createdMs} />}
          class={left === right ? "lg:col-span-2" : ""}
          actions={
            <SelectField
              bare
              label="Newer version"
              value={String(right)}
              choices={choices}
              onChange={(to) => setQuery({ to })}
            />
          }
        >
          <div class="p-4">
            {left === right ? (
              <JsonView value={newer?.schema} label={`schema version ${right}`} maxHeight="max-h-[34rem]" />
            ) : (
              <JsonView
                value={newer?.schema}
                before={older?.schema}
                label={`schema version ${right}, against ${left}`}
                maxHeight="max-h-[34rem]"
              />
            )}
          </div>
        </Section>
      </div>
      <Usage topic={topic} />
    </div>
  );
}

const VERDICTS = {
  compatible: { icon: CircleCheck, tone: "bg-good-wash", ink: "text-good", word: "Compatible" },
  incompatible: { icon: OctagonX, tone: "bg-bad-wash", ink: "text-bad", word: "Not compatible" },
  unknown: { icon: CircleHelp, tone: "bg-warn-wash", ink: "text-warn", word: "Cannot be told" },
} as const;

const MEANING: Readonly<Record<string, string>> = {
  backward: "the newer version reads everything that the older one wrote",
  forward: "the older version reads everything that the newer one writes",
  full: "each version reads what the other writes",
  none: "nothing is asked of the versions",
};

function Verdict({
  report,
  from,
  to: until,
}: {
  readonly report: CompatReport;
  readonly from: number;
  readonly to: number;
}) {
  const { icon: Icon, tone, ink, word } = VERDICTS[report.verdict];
  return (
    <Section>
      <div class={`flex items-start gap-3 px-4 py-3 ${tone}`} data-verdict={report.verdict}>
        <Icon size={18} aria-hidden="true" class={`mt-0.5 shrink-0 ${ink}`} />
        <p>
          <strong class={ink}>{word}</strong> ({report.mode}), v{from} to v{until}:{" "}
          {report.verdict === "compatible"
            ? `${MEANING[report.mode] ?? report.mode}.`
            : `${plural(report.findings.length, "place")} ${report.findings.length === 1 ? "needs" : "need"} a look.`}
        </p>
      </div>
      {report.findings.length > 0 && (
        <ul class="divide-y divide-line border-t border-line">
          {report.findings.map(({ path, rule, counterExample }) => (
            <li key={`${path} ${rule}`} class="px-4 py-2.5 text-sm">
              <code class="mono mr-2 rounded bg-raised px-1">{path}</code>
              {rule}
              {counterExample !== undefined && (
                <span class="mt-1 block text-xs text-soft">
                  for example <code class="mono text-xs">{JSON.stringify(counterExample)}</code>
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** What changed, in words. */
function Changes({ older, newer }: { readonly older: unknown; readonly newer: unknown }) {
  const changes = fieldChanges(older, newer);
  if (changes.length === 0) return null;
  const tones = { added: "good", removed: "bad", changed: "info" } as const;
  return (
    <Section title="What changed">
      <ul class="flex flex-col gap-2 px-4 py-3 text-sm">
        {changes.map(({ kind, path, words }) => (
          <li key={path} class="flex items-baseline gap-2.5">
            <Badge tone={tones[kind]}>{kind}</Badge>
            <span class="min-w-0 wrap-anywhere">
              <code class="mono">{path}</code> <span class="text-soft">{words}</span>
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Which versions the newest events carry: how far an evolution has come. */
function Usage({ topic }: { readonly topic: string }) {
  const page = useLive<Items<EventRecord>>(`/topics/${seg(topic)}/events?limit=200`, 10_000).data;
  if (page === undefined || page.items.length === 0) return null;
  const counts = new Map<string, number>();
  for (const { headers } of page.items) {
    const version = headers?.["x-schema-version"];
    const name = version === undefined ? "not stamped" : `v${version}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return (
    <Section title="Evolution" note={`of the newest ${count(page.items.length)} events`}>
      <ul class="flex flex-col gap-2 p-4 text-sm">
        {[...counts].map(([name, n]) => (
          <li key={name} class="grid grid-cols-[6rem_1fr_4rem] items-center gap-3">
            <span>{name}</span>
            <span class="h-2 overflow-hidden rounded-full bg-raised" aria-hidden="true">
              <span class="block h-full bg-acked" style={{ width: `${(n / page.items.length) * 100}%` }} />
            </span>
            <span class="text-right text-soft">{Math.round((n / page.items.length) * 100)} %</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
