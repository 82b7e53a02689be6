/** What stands around every page: rail, top bar, the page itself, and what lies above them all. */
import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import { forgetKept, offlineSinceMs } from "../data/live.js";
import { Problem } from "../data/problem.js";
import { Button } from "../ui/button.js";
import { TextLink } from "../ui/link.js";
import { place, to } from "../ui/router.js";
import { Empty, Waiting } from "../ui/states.js";
import { Toasts } from "../ui/toast.js";
import { codeOf, fetchCode, pageOf } from "./pages.js";
import { Palette, paletteOpen } from "./palette.js";
import { Rail } from "./rail.js";
import { Shortcuts, shortcutsOpen, useShortcuts } from "./shortcuts.js";
import { OfflineBar, TopBar } from "./top-bar.js";

/**
 * Tab goes on in the new page, not behind the link that led to it, nor from the window's beginning; and to whom the screen
 * is read, it is said where they are now.
 */
function useFocusOnPage(): void {
  const here = place.value.path.join("/");
  const last = useRef(here);
  useEffect(() => {
    if (last.current === here) return;
    last.current = here;
    document.getElementById("content")?.focus({ preventScroll: true });
  }, [here]);
}

function nameOf(path: readonly string[]): string {
  return [path.slice(1).join(" / "), pageOf(path)?.label].filter((part) => part).join(" · ");
}

export function Frame() {
  useShortcuts();
  useFocusOnPage();
  const offline = offlineSinceMs.value !== null;
  return (
    <div class="flex h-dvh flex-col print:block print:h-auto">
      <a
        href="#content"
        class="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-md focus:bg-surface focus:p-2"
      >
        Skip to the page
      </a>
      <TopBar />
      <div class="flex min-h-0 flex-1 print:block">
        <Rail />
        <main
          id="content"
          tabIndex={-1}
          aria-label={nameOf(place.value.path) || "No such page"}
          class="min-w-0 flex-1 overflow-y-auto outline-none max-sm:pb-14 print:overflow-visible"
        >
          <OfflineBar />
          <div
            class={`mx-auto w-full max-w-[1440px] px-6 py-5 transition-[filter,opacity] duration-150 max-sm:px-3 max-sm:py-4 ${offline ? "opacity-80 grayscale" : ""}`}
          >
            <Guarded key={place.value.path.join("/")} />
          </div>
        </main>
      </div>
      {paletteOpen.value && <Palette />}
      {shortcutsOpen.value && <Shortcuts />}
      <Toasts />
    </div>
  );
}

/** A page that cannot be drawn takes nothing else with it. */
function Guarded() {
  const [error, again] = useErrorBoundary((thrown: unknown) => console.error(thrown));
  if (error === undefined) return <PageBody />;
  return (
    <div role="alert" class="flex flex-col items-center gap-3 py-12 text-center">
      <h1 class="font-medium">This page cannot show what the hub says</h1>
      <p class="max-w-md text-sm text-soft">
        The hub and this console may be of different versions. Everything else goes on.
      </p>
      <p class="mono max-w-lg text-xs wrap-anywhere text-faint">{String(error)}</p>
      <div class="flex gap-2">
        <Button
          onClick={() => {
            // What it cannot show is not to be shown to it again.
            forgetKept();
            again();
          }}
        >
          Try again
        </Button>
        <Button kind="primary" onClick={() => location.reload()}>
          Reload
        </Button>
      </div>
    </div>
  );
}

const AWAY = new Problem(0, "OFFLINE", "the hub cannot be reached");

function PageBody() {
  const { path } = place.value;
  const page = pageOf(path);
  const isAway = offlineSinceMs.value !== null;
  useEffect(() => {
    document.title = [nameOf(path), "Promethean"].filter((part) => part).join(" · ");
    if (page !== undefined) void fetchCode(page);
  }, [path.join("/")]);
  if (page === undefined) {
    return (
      <>
        <h1 class="sr-only">No such page</h1>
        <Empty title="There is no such page">
          The address may be of another version of the console.{" "}
          <TextLink href={to()}>Go to the overview</TextLink>
        </Empty>
      </>
    );
  }
  const Code = codeOf(page);
  if (Code === undefined) {
    return (
      <>
        <h1 class="sr-only">{page.label}</h1>
        <Waiting rows={10} problem={isAway ? AWAY : undefined} />
      </>
    );
  }
  if (Code === "failed") {
    return (
      <div role="alert" class="flex flex-col items-center gap-3 py-12">
        <h1 class="sr-only">{page.label}</h1>
        <p class="text-sm text-soft">
          This page could not be fetched. The hub may have been updated meanwhile.
        </p>
        <Button kind="primary" onClick={() => location.reload()}>
          Reload
        </Button>
      </div>
    );
  }
  return <Code rest={path.slice(1)} />;
}
