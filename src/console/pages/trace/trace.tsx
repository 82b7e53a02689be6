/** Causes and effects of an event across topics: by event, or by correlation. */
import { GitFork, RefreshCw, Search } from "lucide-preact";
import { useState } from "preact/hooks";
import { seg, withQuery } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { EventRecord, Trace } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { Button } from "../../ui/button.js";
import { TextField } from "../../ui/fields.js";
import { duration, plural, visible } from "../../ui/format.js";
import { PageHead, Section } from "../../ui/page.js";
import { go, query, setQuery, to } from "../../ui/router.js";
import { Loaded } from "../../ui/states.js";
import { EventBody } from "../events/event-panel.js";
import { NoneYet } from "../none-yet.js";
import type { PageProps } from "../page-props.js";
import { TraceGraph } from "./trace-graph.js";

export function TracePage({ rest }: PageProps) {
  const [id] = rest;
  const correlation = query("correlation");
  if (id === undefined && correlation === null) return <AskFor />;
  const path = id === undefined ? withQuery("/trace", { correlation }) : `/trace/${seg(id)}`;
  return (
    <TraceView key={path} path={path} {...(id !== undefined && { id })} name={id ?? correlation ?? ""} />
  );
}

function AskFor() {
  const [text, setText] = useState("");
  const [correlation, setCorrelation] = useState("");
  return (
    <>
      <PageHead title="Trace">What caused an event, and what it caused, across topics.</PageHead>
      <div class="grid gap-4 md:grid-cols-2">
        <Section title="An event and its relations">
          <form
            class="flex flex-col gap-3 p-4"
            onSubmit={(event) => {
              event.preventDefault();
              if (text.trim() !== "") go(to("trace", text.trim()));
            }}
          >
            <TextField
              label="Event id"
              mono
              value={text}
              onInput={setText}
              placeholder="0190f3c2-7c6e-7000-…"
              hint="As a publish was answered, or as it stands beside an event."
            />
            <Button kind="primary" type="submit" icon={GitFork} class="self-start">
              Trace event
            </Button>
          </form>
        </Section>
        <Section title="Everything of one correlation">
          <form
            class="flex flex-col gap-3 p-4"
            onSubmit={(event) => {
              event.preventDefault();
              if (correlation.trim() !== "") go(to("trace", { correlation: correlation.trim() }));
            }}
          >
            <TextField
              label="Correlation"
              mono
              value={correlation}
              onInput={setCorrelation}
              hint="A header correlationId or x-correlation-id, a W3C trace id, or a session id."
            />
            <Button type="submit" icon={Search} class="self-start">
              Find events
            </Button>
          </form>
        </Section>
      </div>
    </>
  );
}

function TraceView(props: { readonly path: string; readonly id?: string; readonly name: string }) {
  const { path, id, name } = props;
  const live = useLive<Trace>(path, Number.POSITIVE_INFINITY);
  const chosen = query("event") ?? id ?? null;
  return (
    <>
      <PageHead
        title={visible(name)}
        mono
        crumbs={[{ label: "Trace", href: to("trace") }]}
        actions={
          <Button onClick={live.refresh} icon={RefreshCw}>
            Look again
          </Button>
        }
      >
        {live.data && <Summary trace={live.data} />}
      </PageHead>
      <Loaded live={live} rows={8}>
        {(trace) =>
          trace.events.length === 0 ? (
            <Section>
              <NoneYet things="events of this correlation" title="No events of this correlation">
                The last day was looked through.
              </NoneYet>
            </Section>
          ) : (
            <div class="grid items-start gap-4 xl:grid-cols-[1fr_29rem]">
              <Section title="Causes and effects" note="time runs to the right; a lane for each topic">
                <TraceGraph trace={trace} chosen={chosen} onChoose={(event) => setQuery({ event })} />
              </Section>
              <Chosen event={trace.events.find((one) => one.id === chosen) ?? trace.events[0]} />
            </div>
          )
        }
      </Loaded>
    </>
  );
}

function Chosen({ event }: { readonly event: EventRecord | undefined }) {
  if (event === undefined) return null;
  return (
    <Section title={event.topic} note={visible(event.key ?? "")}>
      <div class="p-4">
        <EventBody event={event} />
      </div>
    </Section>
  );
}

function Summary({ trace }: { readonly trace: Trace }) {
  const times = trace.events.map(({ ts }) => ts);
  const topics = new Set(trace.events.map(({ topic }) => topic)).size;
  const took = (Math.max(...times) - Math.min(...times)) / 1_000;
  return (
    <span class="flex flex-wrap items-center gap-2">
      {plural(trace.events.length, "event")} in {plural(topics, "topic")}, {duration(Math.max(0, took))} from
      first to last.
      {!trace.complete && (
        <Badge tone="warn">looked at {plural(trace.scanned, "event")}, there may be more</Badge>
      )}
      {trace.missing.length > 0 && <Badge>{plural(trace.missing.length, "cause")} not to be seen</Badge>}
    </span>
  );
}
