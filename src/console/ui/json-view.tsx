/** JSON for reading: coloured, with what changed marked, always as text. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "./button.js";
import { CopyButton } from "./copy.js";
import { count } from "./format.js";
import { type Line, linesOf, type Mark } from "./json-lines.js";

const MARKS: Readonly<Record<Mark, string>> = {
  same: "",
  added: "bg-good-wash",
  removed: "bg-bad-wash line-through decoration-bad/60",
};
const SIGNS: Readonly<Record<Mark, string>> = { same: " ", added: "+", removed: "−" };

/** So many lines are drawn at first, and so many more when asked for. */
const FIRST_LINES = 1_000;
const MORE_LINES = 5_000;

/** `before` marks what is new, and shows what is gone. */
export function JsonView(props: {
  readonly value: unknown;
  readonly before?: unknown;
  readonly label: string;
  readonly maxHeight?: string;
}) {
  const { value, before, label, maxHeight = "max-h-112" } = props;
  const compared = "before" in props;
  const [shown, setShown] = useState(FIRST_LINES);
  const lines = useMemo(() => linesOf(value, compared ? { before } : undefined), [value, before, compared]);
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "", [value]);
  const left = lines.length - shown;
  return (
    <div class="group relative rounded-md border border-line bg-sunken">
      <div class="absolute top-1 right-1 opacity-60 group-hover:opacity-100 focus-within:opacity-100">
        <CopyButton text={text} label={label} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <section tabIndex={0} aria-label={label} class={`overflow-auto py-2 ${maxHeight}`}>
        <code class="mono block min-w-min leading-5">
          {lines.slice(0, shown).map((line, i) => (
            <LineView key={i} line={line} compared={compared} />
          ))}
        </code>
        {left > 0 && (
          <Button kind="quiet" class="sticky left-0" onClick={() => setShown(shown + MORE_LINES)}>
            Show {left > MORE_LINES ? `${count(MORE_LINES)} of ${count(left)}` : count(left)} more lines
          </Button>
        )}
      </section>
    </div>
  );
}

function LineView({ line, compared }: { readonly line: Line; readonly compared: boolean }) {
  const { depth, mark, name, value, kind, tail } = line;
  return (
    <div
      {...(mark !== "same" && { role: mark === "added" ? "insertion" : "deletion" })}
      class={`flex pr-10 ${compared ? "pl-1" : "pl-3"} ${MARKS[mark]}`}
    >
      {compared && (
        <span class="w-4 shrink-0 text-faint select-none" aria-hidden="true">
          {SIGNS[mark]}
        </span>
      )}
      <span class="shrink-0 whitespace-pre">{"  ".repeat(depth)}</span>
      <span class="min-w-32 wrap-anywhere whitespace-pre-wrap">
        {name !== undefined && (
          <>
            <bdi class="text-info">{name}</bdi>
            {": "}
          </>
        )}
        <Coloured kind={kind}>{value}</Coloured>
        {tail}
      </span>
    </div>
  );
}

function Coloured({ kind, children }: { readonly kind: Line["kind"]; readonly children: ComponentChildren }) {
  switch (kind) {
    case "string":
      return <bdi class="text-good">{children}</bdi>;
    case "number":
      return <span class="text-ember-text">{children}</span>;
    case "word":
      return <span class="text-lag">{children}</span>;
    case "frame":
      return <>{children}</>;
  }
}
