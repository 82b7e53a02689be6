/** Fields of forms, and the filter that every list has. */
import { Search, X } from "lucide-preact";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { query, setQuery } from "./router.js";

/** What ties a control to its label, and to what is said below it. */
interface Tied {
  readonly id: string;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: true;
}

export function Field(props: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly wrong?: string | undefined;
  readonly children: (tied: Tied) => ComponentChildren;
}) {
  const id = useId();
  const said = `${id}-said`;
  const isWrong = props.wrong !== undefined;
  const tied: Tied = {
    id,
    ...((isWrong || props.hint !== undefined) && { "aria-describedby": said }),
    ...(isWrong && { "aria-invalid": true }),
  };
  return (
    <div class="flex min-w-0 flex-col gap-1">
      <label for={id} class="label">
        {props.label}
      </label>
      {props.children(tied)}
      {isWrong ? (
        <span id={said} class="text-xs text-bad" role="alert">
          {props.wrong}
        </span>
      ) : (
        props.hint !== undefined && (
          <span id={said} class="text-xs text-faint">
            {props.hint}
          </span>
        )
      )}
    </div>
  );
}

export function TextField(props: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly wrong?: string | undefined;
  readonly placeholder?: string;
  readonly mono?: boolean;
  readonly type?: "text" | "number" | "password" | "datetime-local";
}) {
  const { label, value, onInput, hint, wrong, placeholder, mono, type } = props;
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(tied) => (
        <input
          {...tied}
          class={`field ${mono ? "font-mono" : ""}`}
          type={type ?? "text"}
          step={type === "datetime-local" ? "1" : undefined}
          value={value}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

export function SelectField(props: {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChange: (value: string) => void;
  /** The label is there for screen readers only. */
  readonly bare?: boolean;
}) {
  const { label, value, choices, onChange, bare } = props;
  const select = (tied?: Tied) => (
    <select
      {...tied}
      aria-label={bare ? label : undefined}
      class={`field pr-6 ${bare ? "w-auto max-w-48" : ""}`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
  return bare ? select() : <Field label={label}>{select}</Field>;
}

export function JsonField(props: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly wrong?: string | undefined;
  readonly hint?: ComponentChildren;
  readonly rows?: number;
}) {
  const { label, value, onInput, wrong, hint, rows = 10 } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  // A text that is longer than its field is read from its beginning.
  useEffect(() => field.current?.setSelectionRange(0, 0), []);
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(tied) => (
        <textarea
          {...tied}
          ref={field}
          rows={rows}
          spellcheck={false}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
          class={`mono w-full resize-y rounded-md border bg-surface p-3 leading-5 max-sm:text-lg ${wrong === undefined ? "border-edge" : "border-bad"}`}
        />
      )}
    </Field>
  );
}

const SETTLE_MS = 200;

/** A filter that lives in the address. `/` goes there. */
export function FilterBox(props: {
  readonly name?: string;
  readonly placeholder: string;
  readonly main?: boolean;
  /** What it is called, where the placeholder is an example. */
  readonly label?: string;
  /** What can be said here, where the placeholder has no room for it. */
  readonly hint?: string;
}) {
  const { name = "q", placeholder, main = true, label = placeholder, hint } = props;
  const inAddress = query(name) ?? "";
  const [text, setText] = useState(inAddress);
  const typed = useRef(false);
  useEffect(() => {
    if (!typed.current) setText(inAddress);
  }, [inAddress]);
  useEffect(() => {
    if (!typed.current) return;
    const timer = setTimeout(() => {
      typed.current = false;
      setQuery({ [name]: text });
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div
      class={`relative min-w-32 max-sm:flex-1 ${main ? "sm:w-64 max-sm:order-first max-sm:basis-full" : "sm:max-w-52 sm:min-w-42 sm:flex-1"}`}
    >
      <Search
        size={14}
        aria-hidden="true"
        class="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-faint"
      />
      <input
        type="text"
        aria-label={label}
        title={hint}
        placeholder={placeholder}
        {...(main && { "data-main-filter": "" })}
        class={`field pl-8 ${text === "" ? "" : "pr-8"}`}
        value={text}
        spellcheck={false}
        onInput={(event) => {
          typed.current = true;
          setText(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      {text !== "" && (
        <button
          type="button"
          aria-label="Clear filter"
          class="absolute inset-y-0 right-0 flex w-8 items-center justify-center rounded text-faint hover:text-ink max-sm:w-10"
          onClick={() => {
            typed.current = true;
            setText("");
          }}
        >
          <X size={14} aria-hidden="true" />
        </button>
      )}
    </div>
  );
}

/** Whether every word of the filter is somewhere in the texts. */
export function passes(filter: string, ...texts: readonly (string | undefined)[]): boolean {
  if (filter === "") return true;
  const all = texts.join("\n").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
