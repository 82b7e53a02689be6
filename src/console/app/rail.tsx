/** The pages at the left: with names where there is room, at the bottom where there is little. */
import { useEffect, useRef } from "preact/hooks";
import { useStats } from "../data/stats.js";
import { count, si } from "../ui/format.js";
import { Link } from "../ui/link.js";
import { place, to } from "../ui/router.js";
import { PAGES } from "./pages.js";

export function Rail() {
  const here = place.value.path[0] ?? "";
  const open = useStats()?.deadLetters.open ?? 0;
  const rail = useRef<HTMLElement>(null);
  useEffect(() => {
    rail.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [here]);
  return (
    <nav
      ref={rail}
      aria-label="Pages"
      class="print:hidden flex shrink-0 gap-0.5 border-line bg-surface max-sm:fixed max-sm:inset-x-0 max-sm:bottom-0 max-sm:z-40 max-sm:h-14 max-sm:overflow-x-auto max-sm:border-t max-sm:px-1 sm:w-14 sm:flex-col sm:border-r sm:p-2 lg:w-48"
    >
      {PAGES.map(({ name, label, icon: Icon, letter }) => {
        const isHere = name === here;
        return (
          <Link
            key={name}
            href={name === "" ? to() : to(name)}
            aria-current={isHere ? "page" : undefined}
            title={`${label}${name === "dead-letters" && open > 0 ? `, ${count(open)} open` : ""} (g ${letter})`}
            class={`relative flex items-center gap-2.5 rounded-md text-sm max-sm:min-w-16 max-sm:flex-1 max-sm:flex-col max-sm:justify-center max-sm:gap-0.5 max-sm:text-2xs sm:h-9 sm:px-2.5 sm:max-lg:justify-center ${isHere ? "bg-raised font-medium text-ink" : "text-soft hover:bg-raised hover:text-ink"}`}
          >
            <Icon size={17} aria-hidden="true" class={`shrink-0 ${isHere ? "text-ember" : ""}`} />
            <span class="whitespace-nowrap sm:max-lg:sr-only">{label}</span>
            {name === "dead-letters" && open > 0 && (
              <span class="rounded bg-bad-wash px-1.5 text-2xs font-medium text-bad max-sm:absolute max-sm:top-0.5 max-sm:left-[calc(50%+4px)] max-sm:z-10 max-sm:px-1 sm:max-lg:absolute sm:max-lg:top-1 sm:max-lg:right-1 sm:max-lg:size-2 sm:max-lg:overflow-hidden sm:max-lg:rounded-full sm:max-lg:bg-bad sm:max-lg:px-0 sm:max-lg:text-transparent lg:ml-auto">
                {si(open)}
                <span class="sr-only"> open</span>
              </span>
            )}
          </Link>
        );
      })}
    </nav>
  );
}
