/** What your token may do, and a way to ask whether it may do something. */
import { Check, ShieldCheck, X } from "lucide-preact";
import { useState } from "preact/hooks";
import { ACTIONS, type Verb } from "../../data/rights.js";
import { may, who } from "../../data/session.js";
import { Badge } from "../../ui/badge.js";
import { SelectField, TextField } from "../../ui/fields.js";
import { Ago, Moment } from "../../ui/now.js";
import { Facts, Section } from "../../ui/page.js";
import { Table } from "../../ui/table.js";

export function Access() {
  const identity = who.value;
  if (identity === null) return null;
  return (
    <div class="grid items-start gap-4 lg:grid-cols-2">
      <Section title="Your token">
        <div class="p-4">
          <Facts
            facts={[
              ["Subject", <span class="font-medium">{identity.subject}</span>],
              [
                "Runs out",
                identity.expiresMs === null ? (
                  "never"
                ) : (
                  <>
                    <Ago ts={identity.expiresMs} /> (<Moment ts={identity.expiresMs} />)
                  </>
                ),
              ],
            ]}
          />
        </div>
        <div class="border-t border-line">
          <Table
            name="rules"
            rows={identity.rules}
            rowKey={(rule) => JSON.stringify(rule)}
            columns={[
              {
                id: "effect",
                head: "Effect",
                cell: ({ effect }) => <Badge tone={effect === "allow" ? "good" : "bad"}>{effect}</Badge>,
              },
              {
                id: "verbs",
                head: "Verbs",
                cell: ({ verbs }) => <code class="mono">{verbs.join(", ")}</code>,
              },
              {
                id: "resources",
                head: "On",
                grow: true,
                cell: ({ resources }) => <code class="mono">{resources.join(", ")}</code>,
              },
            ]}
          />
        </div>
        <p class="border-t border-line px-4 py-2.5 text-xs text-faint">
          <code class="mono text-xs">*</code> is one segment of a name, <code class="mono text-xs">**</code>{" "}
          any number. A denial wins; what nothing allows is denied.
        </p>
      </Section>
      <div class="flex flex-col gap-4">
        <TryRight />
        <Operations />
      </div>
    </div>
  );
}

function Operations() {
  return (
    <Section title="Operations">
      <ul class="grid grid-cols-2 gap-x-4 gap-y-1.5 p-4 text-sm sm:grid-cols-3">
        {ACTIONS.map((action) => {
          const allowed = may("ops", action);
          const Icon = allowed ? Check : X;
          return (
            <li key={action} class={`flex items-center gap-2 ${allowed ? "" : "text-faint"}`}>
              <Icon size={14} aria-hidden="true" class={allowed ? "text-good" : ""} />
              <span class="mono">{action}</span>
              <span class="sr-only">{allowed ? "allowed" : "not allowed"}</span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

/** What a right is for, if not for a topic. */
const NAMED: Readonly<Partial<Record<Verb, string>>> = { ops: "Action", group: "Group" };

function TryRight() {
  const [verb, setVerb] = useState<Verb>("read");
  const [topic, setTopic] = useState("orders.placed");
  const allowed = may(verb, topic);
  return (
    <Section title="May I?">
      <div class="grid grid-cols-[9rem_1fr] gap-3 p-4">
        <SelectField
          label="Verb"
          value={verb}
          choices={["read", "subscribe", "publish", "group", "ops"].map((value) => ({ value, label: value }))}
          onChange={(value) => setVerb(value as Verb)}
        />
        <TextField label={NAMED[verb] ?? "Topic"} mono value={topic} onInput={setTopic} />
        <p class="col-span-2 flex items-center gap-2 text-sm">
          <ShieldCheck size={16} aria-hidden="true" class={allowed ? "text-good" : "text-faint"} />
          {allowed ? "Yes." : "No: no rule of your token allows it, or one denies it."}
        </p>
      </div>
    </Section>
  );
}
