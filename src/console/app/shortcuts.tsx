/** Keys that work everywhere, and the page that lists them. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Dialog } from "../ui/dialog.js";
import { go, to } from "../ui/router.js";
import { isTyping } from "../ui/table.js";
import { PAGES } from "./pages.js";
import { paletteOpen } from "./palette.js";

export const shortcutsOpen = signal(false);
const CHORD_MS = 1_200;

export function useShortcuts(): void {
  useEffect(() => {
    let gAtMs = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        paletteOpen.value = !paletteOpen.peek();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      // When the keys were pressed, not when a busy page came to them.
      const page = event.timeStamp - gAtMs < CHORD_MS && PAGES.find(({ letter }) => letter === event.key);
      gAtMs = !page && event.key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (page) {
        event.preventDefault();
        go(page.name === "" ? to() : to(page.name));
      } else if (event.key === "/") {
        const filter = document.querySelector<HTMLInputElement>("[data-main-filter]");
        if (filter === null) return;
        event.preventDefault();
        filter.focus();
        filter.select();
      } else if (event.key === "?") {
        shortcutsOpen.value = true;
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "Jump to a topic, group, view, key or event"],
  ["/", "Go to the filter"],
  ["j  k", "Next and previous row"],
  ["Enter", "Open the row"],
  ["← →", "Next and previous point of a chart"],
  ["Esc", "Close the panel or dialog"],
  ["?", "This list"],
];

export function Shortcuts() {
  const pages = PAGES.map(({ letter, label }) => [`g ${letter}`, label] as const);
  return (
    <Dialog
      title="Keyboard"
      onClose={() => {
        shortcutsOpen.value = false;
      }}
    >
      <div class="grid gap-x-8 gap-y-4 sm:grid-cols-[3fr_2fr]">
        <KeyList title="Everywhere" keys={KEYS} />
        <KeyList title="Pages" keys={pages} />
      </div>
    </Dialog>
  );
}

function KeyList(props: { readonly title: string; readonly keys: typeof KEYS }) {
  return (
    <section>
      <h3 class="label mb-2">{props.title}</h3>
      <div class="flex flex-col gap-1.5">
        {props.keys.map(([keys, meaning]) => (
          <div key={keys} class="flex items-start gap-3">
            <span class="flex w-16 shrink-0 gap-1">
              {keys.split(" ").map(
                (key) =>
                  key !== "" && (
                    <kbd
                      key={key}
                      class="rounded border border-line-strong bg-sunken px-1.5 font-mono text-xs"
                    >
                      {key}
                    </kbd>
                  ),
              )}
            </span>
            <span class="text-soft">{meaning}</span>
          </div>
        ))}
      </div>
    </section>
  );
}
