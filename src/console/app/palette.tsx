/** Ctrl-K: jump to any page, topic, group, view, key or event, or do what is done often. */
import { signal } from "@preact/signals";
import {
  ArrowRight,
  Boxes,
  Hash,
  KeyRound,
  Layers,
  type LucideIcon,
  Moon,
  TableProperties,
} from "lucide-preact";
import { useEffect, useState } from "preact/hooks";
import { isByKey, type KeyPlace, useKeyPlaces } from "../data/key-places.js";
import { useLive } from "../data/live.js";
import { reach } from "../data/session.js";
import type { GroupLag, Items, TopicRow, ViewInfo } from "../data/shapes.js";
import { visible } from "../ui/format.js";
import { useModal } from "../ui/modal.js";
import { go, to, toDocument } from "../ui/router.js";
import { toggleTheme } from "../ui/theme.js";
import { DialogToasts } from "../ui/toast.js";
import { PAGES } from "./pages.js";

export const paletteOpen = signal(false);

interface Entry {
  readonly kind: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** Behind what has the text in its name: 2 where a key was found, 3 where it may be. */
  readonly rank?: number;
  readonly run: () => void;
}

const MAX_SHOWN = 12;
const EVENT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-/i;

export function Palette() {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const all = useEntries(text.trim());
  const shown = matching(all, text.trim()).slice(0, MAX_SHOWN);
  const seesAll = reach() === "all";
  const close = (): void => {
    paletteOpen.value = false;
  };
  const modal = useModal(close);
  useEffect(() => {
    modal.ref.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const run = (entry: Entry | undefined): void => {
    close();
    entry?.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setChosen((chosen + step + shown.length) % Math.max(1, shown.length));
    if (event.key === "Enter") run(shown[chosen]);
    if (step !== 0 || event.key === "Enter") event.preventDefault();
  };
  return (
    <dialog
      {...modal}
      aria-label="Jump to"
      onKeyDown={onKey}
      class="fade-in mx-auto mt-[12vh] w-[min(36rem,calc(100vw-2rem))] overflow-hidden rounded-lg border border-line-strong bg-surface p-0 text-ink backdrop:bg-scrim"
    >
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen < shown.length ? `palette-${chosen}` : undefined}
        aria-label="Jump to"
        placeholder="A topic, group, view, key or event id…"
        class="h-12 w-full border-b border-line bg-transparent px-4 text-base outline-none placeholder:text-faint max-sm:text-lg"
        value={text}
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
      />
      <div id="palette-list" role="listbox" aria-label="Found" class="max-h-96 overflow-y-auto p-1.5">
        {shown.map((entry, i) => (
          <div
            key={`${entry.kind} ${entry.label}`}
            id={`palette-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            // Not when the list comes to lie under a pointer that rests: Enter must take what one typed.
            onMouseMove={() => setChosen(i)}
            onClick={() => run(entry)}
            onKeyDown={() => undefined}
            class={`flex h-9 cursor-pointer max-sm:h-11 items-center gap-3 rounded-md px-3 text-sm ${i === chosen ? "bg-raised shadow-[inset_2px_0_0_var(--color-ember)]" : ""}`}
          >
            <entry.icon size={15} aria-hidden="true" class="shrink-0 text-faint" />
            <span class="min-w-0 truncate">{visible(entry.label)}</span>
            <span class="ml-auto max-w-1/2 shrink-0 truncate text-xs text-faint">{entry.kind}</span>
          </div>
        ))}
        {shown.length === 0 && (
          <p role="status" class="px-3 py-6 text-center text-sm text-soft">
            Nothing by that name{seesAll ? "" : " that your token may read"}.
          </p>
        )}
      </div>
      <DialogToasts />
    </dialog>
  );
}

function useEntries(text: string): Entry[] {
  const topics = useLive<Items<TopicRow>>("/topics", Number.POSITIVE_INFINITY).data?.items ?? [];
  const sources = topics.filter(({ name }) => !/^dlq\.|\.snapshot$/.test(name));
  const groups = useLive<Items<GroupLag>>("/groups", Number.POSITIVE_INFINITY).data?.items ?? [];
  const views = useLive<Items<ViewInfo>>("/views", Number.POSITIVE_INFINITY).data?.items ?? [];
  const isKey = text.length >= 2 && !EVENT_ID.test(text);
  const places = useKeyPlaces(isKey ? text : null, views, sources);
  return [
    ...(EVENT_ID.test(text) ? [link("Trace event", text, Hash, to("trace", text))] : []),
    ...PAGES.map(({ name, label, icon }) => link("Page", label, icon, name === "" ? to() : to(name))),
    ...topics.map(({ name }) => link("Topic", name, Layers, to("topics", name))),
    ...[...new Set(groups.map(({ group }) => group))].map((group) =>
      link("Group", group, Boxes, to("groups", group)),
    ),
    ...views.map(({ view }) => link("View", view, TableProperties, to("views", view))),
    { kind: "Command", label: "Switch theme", icon: Moon, run: toggleTheme },
    ...(isKey ? keyEntries(text, places, sources) : []),
  ];
}

function link(kind: string, label: string, icon: LucideIcon, href: string): Entry {
  return { kind, label, icon, run: () => go(href) };
}

/** A word that is no name may be a key: where it was found, and where it would have to be looked for; or the id of an event that somebody chose. */
function keyEntries(text: string, places: readonly KeyPlace[], topics: readonly TopicRow[]): Entry[] {
  const found = places.map(({ kind, name }) =>
    kind === "view"
      ? link(`Key in ${name}`, text, KeyRound, toDocument(name, text))
      : link(`History in ${name}`, text, ArrowRight, historyOf(name, text)),
  );
  const others = topics.filter((topic) => !isByKey(topic));
  const elsewhere = [
    link("Trace event", text, Hash, to("trace", text)),
    ...others.map(({ name }) => link(`Look for it in ${name}`, text, ArrowRight, historyOf(name, text))),
  ];
  return [
    ...found.map((entry) => ({ ...entry, rank: 2 })),
    ...elsewhere.map((entry) => ({ ...entry, rank: 3 })),
  ];
}

function historyOf(topic: string, key: string): string {
  return to("topics", topic, { tab: "key", key });
}

/** Those that have every word, those that begin with it first. */
function matching(entries: readonly Entry[], text: string): Entry[] {
  if (text === "") return [...entries];
  const words = text.toLowerCase().split(/\s+/);
  const fitting = entries.filter(({ label, kind }) => {
    const all = `${label} ${kind}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
  const first = words[0] ?? "";
  return fitting.sort((a, b) => rankOf(a, first) - rankOf(b, first));
}

function rankOf({ label, rank }: Entry, word: string): number {
  return rank ?? (label.toLowerCase().startsWith(word) ? 0 : 1);
}
