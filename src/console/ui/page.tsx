/** The parts every page has: a heading with its actions, sections, figures, tabs. */
import { ChevronRight } from "lucide-preact";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Link } from "./link.js";
import { query, setQuery } from "./router.js";

export interface Crumb {
  readonly label: string;
  readonly href: string;
}

export function PageHead(props: {
  readonly title: string;
  readonly mono?: boolean;
  readonly crumbs?: readonly Crumb[];
  readonly badges?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  const { title, mono, crumbs = [], badges, actions, children } = props;
  return (
    <header class="mb-4 flex flex-wrap items-start gap-x-4">
      <div class="min-w-0 flex-1 basis-56 max-sm:basis-full">
        {crumbs.length > 0 && (
          <nav
            aria-label="Breadcrumb"
            class="mb-0.5 flex items-center gap-1 text-xs text-faint max-sm:-mt-3 max-sm:mb-0"
          >
            {crumbs.map(({ label, href }) => (
              <span key={href} class="flex min-w-0 items-center gap-1 first:shrink-0">
                <Link
                  href={href}
                  class="truncate rounded-sm hover:text-ink max-sm:flex max-sm:h-10 max-sm:items-center"
                >
                  {label}
                </Link>
                <ChevronRight size={12} aria-hidden="true" class="shrink-0" />
              </span>
            ))}
          </nav>
        )}
        <div class="flex flex-wrap items-center gap-2">
          <h1
            tabIndex={-1}
            class={`line-clamp-3 max-w-full text-xl wrap-anywhere font-semibold tracking-tight outline-none max-sm:line-clamp-6 ${mono ? "font-mono max-sm:text-lg" : ""}`}
            title={title}
          >
            {title}
          </h1>
          {badges}
        </div>
        {children !== undefined && <div class="mt-1 text-sm text-pretty text-soft">{children}</div>}
      </div>
      {actions !== undefined && (
        // Where none of them is shown, they take no room either.
        <div class="flex flex-wrap items-center gap-x-2 max-sm:w-full max-sm:[&>*]:mt-3">{actions}</div>
      )}
    </header>
  );
}

export function Section(props: {
  readonly title?: string;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}) {
  const { title, note, actions, children } = props;
  return (
    <section class={`card flex min-w-0 flex-col overflow-hidden ${props.class ?? ""}`} aria-label={title}>
      {title !== undefined && (
        <div class="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-1.5">
          <h2 class="text-sm font-semibold wrap-anywhere">{title}</h2>
          {note !== undefined && <span class="text-xs wrap-anywhere text-faint">{note}</span>}
          <div class="ml-auto flex items-center gap-1">{actions}</div>
        </div>
      )}
      {children}
    </section>
  );
}

/** One figure with its name, a word about it, and how it went. */
export function Figure(props: {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly detail?: ComponentChildren;
  readonly tone?: "bad" | "warn" | undefined;
  readonly href?: string;
  readonly children?: ComponentChildren;
}) {
  const { name, value, detail, tone, href, children } = props;
  const colour = tone === "bad" ? "text-bad" : tone === "warn" ? "text-warn" : "";
  const body = (
    <>
      <div class="label">{name}</div>
      <div class="flex items-end justify-between gap-3">
        <div
          class={`text-2xl leading-9 font-semibold tracking-tight whitespace-nowrap max-sm:text-xl ${colour}`}
        >
          {value}
        </div>
        {/* How it went is drawn narrower where there is less room, and not at all where nothing could be seen of it. */}
        <div class="@container min-w-0 flex-1 pb-1">
          <div class="flex justify-end @max-[2.25rem]:hidden [&>svg]:max-w-full">{children}</div>
        </div>
      </div>
      <div
        class="line-clamp-2 min-h-4 text-xs text-pretty break-words text-faint"
        title={typeof detail === "string" ? detail : undefined}
      >
        {detail}
      </div>
    </>
  );
  const look = "card block min-w-0 px-4 pt-3 pb-2.5";
  return href === undefined ? (
    <div class={look}>{body}</div>
  ) : (
    <Link href={href} class={`${look} transition-colors duration-100 hover:border-line-strong`}>
      {body}
    </Link>
  );
}

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly count?: number | undefined;
}

/** The open tab is in the address. */
export function useTab(tabs: readonly Tab[], name = "tab"): string {
  const wanted = query(name);
  return tabs.find(({ id }) => id === wanted)?.id ?? tabs[0]?.id ?? "";
}

export function Tabs({ tabs, name = "tab" }: { readonly tabs: readonly Tab[]; readonly name?: string }) {
  const open = useTab(tabs, name);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => showTab(list.current), [open]);
  const choose = (i: number): void =>
    setQuery({ [name]: i === 0 ? null : (tabs[i]?.id ?? null) }, { push: true });
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = (tabs.findIndex(({ id }) => id === open) + step + tabs.length) % tabs.length;
    choose(next);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div
      ref={list}
      class="mb-4 flex gap-1 overflow-x-auto border-b border-line"
      role="tablist"
      aria-label="Parts of this page"
      onKeyDown={onKey}
    >
      {tabs.map(({ id, label, count }, i) => (
        <button
          key={id}
          type="button"
          role="tab"
          id={`tab-${id}`}
          aria-selected={id === open}
          aria-controls={id === open ? "tab-panel" : undefined}
          tabIndex={id === open ? 0 : -1}
          class={`-mb-px flex h-9 max-sm:h-11 shrink-0 items-center gap-1.5 border-b-2 px-3 text-sm ${id === open ? "border-ember font-medium text-ink" : "border-transparent text-soft hover:text-ink"}`}
          onClick={() => choose(i)}
        >
          {label}
          {count !== undefined && <span class="rounded bg-raised px-1.5 text-2xs text-soft">{count}</span>}
        </button>
      ))}
    </div>
  );
}

/** What the open tab shows. */
export function TabPanel({ tab, children }: { readonly tab: string; readonly children: ComponentChildren }) {
  return (
    <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
      {children}
    </div>
  );
}

/** Moves the list alone: in a low window the page is to stay where it is. */
function showTab(list: HTMLElement | null): void {
  const tab = list?.querySelector<HTMLElement>("[aria-selected=true]");
  if (list === null || tab === null || tab === undefined) return;
  const left = tab.offsetLeft - list.offsetLeft;
  const right = left + tab.offsetWidth;
  if (left < list.scrollLeft) list.scrollLeft = left;
  else if (right > list.scrollLeft + list.clientWidth) list.scrollLeft = right - list.clientWidth;
}

/** Names and values, one a line. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="grid grid-cols-[fit-content(45%)_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm max-sm:gap-x-3">
      {facts.map(([name, value]) => (
        <div key={name} class="contents">
          <dt class="min-w-24 wrap-anywhere text-soft max-sm:min-w-14">{name}</dt>
          {/* A button in it makes no line higher than others. */}
          <dd class="min-w-0 wrap-anywhere [&_button]:-my-1 [&_button]:align-middle max-sm:[&_button]:-my-2.5">
            {value}
          </dd>
        </div>
      ))}
    </dl>
  );
}
