/** Through time by hand: a mark for each change, and the document as it was where one stands. */
import { ChevronLeft, ChevronRight } from "lucide-preact";
import { useEffect, useState } from "preact/hooks";
import type { EventRecord } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { moment } from "../../ui/format.js";

interface SliderProps {
  /** Oldest first. */
  readonly changes: readonly EventRecord[];
  readonly at: number | null;
  readonly onAt: (ts: number | null) => void;
}

const SETTLE_MS = 120;
const HANDLE_PX = 16;

export function TimeSlider({ changes, at, onAt }: SliderProps) {
  const first = changes[0]?.ts ?? 0;
  const last = changes.at(-1)?.ts ?? first;
  const margin = Math.max(1_000, (last - first) * 0.04);
  const [from, until] = [first - margin, last + margin];
  // The handle's middle goes from half its width to half its width before the end: so do the marks.
  const share = (ts: number): string =>
    `calc(${HANDLE_PX / 2}px + (100% - ${HANDLE_PX}px) * ${(ts - from) / (until - from)})`;
  const place = at ?? until;
  // While it is drawn, it goes through a time for each pixel: only where it comes to rest the hub is asked.
  const [drawn, setDrawn] = useState<number | null>(null);
  useEffect(() => {
    if (drawn === null) return;
    const timer = setTimeout(() => {
      setDrawn(null);
      onAt(drawn >= Math.ceil(until) - 1 ? null : drawn);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [drawn]);
  const earlier = changes.filter(({ ts }) => ts < (at ?? Number.POSITIVE_INFINITY)).at(at === null ? -2 : -1);
  const later = changes.find(({ ts }) => at !== null && ts > at);
  return (
    <div class="border-t border-line px-4 py-3">
      <div class="grid grid-cols-[auto_1fr_auto_auto] items-center gap-x-2">
        <Button
          kind="quiet"
          icon={ChevronLeft}
          aria-label="Change before"
          disabled={earlier === undefined}
          onClick={() => earlier && onAt(earlier.ts)}
        />
        <div class="relative h-8 max-sm:h-10">
          <div class="absolute inset-x-0 top-1/2 h-px bg-line-strong" aria-hidden="true" />
          {changes.map(({ id, ts }) => (
            <span
              key={id}
              aria-hidden="true"
              class={`absolute top-1/2 h-3.5 w-0.5 -translate-x-1/2 -translate-y-1/2 rounded ${ts <= place ? "bg-ember" : "bg-faint/50"}`}
              style={{ left: share(ts) }}
            />
          ))}
          <input
            type="range"
            aria-label="Time"
            aria-valuetext={drawn !== null ? moment(drawn) : at === null ? "now" : moment(at)}
            class="absolute inset-0 w-full cursor-pointer appearance-none bg-transparent [&::-moz-range-thumb]:size-3.5 [&::-moz-range-thumb]:rounded-full [&::-moz-range-thumb]:border-2 [&::-moz-range-thumb]:border-surface [&::-moz-range-thumb]:bg-ink [&::-webkit-slider-thumb]:size-4 [&::-webkit-slider-thumb]:appearance-none [&::-webkit-slider-thumb]:rounded-full [&::-webkit-slider-thumb]:border-2 [&::-webkit-slider-thumb]:border-surface [&::-webkit-slider-thumb]:bg-ink"
            min={Math.floor(from)}
            max={Math.ceil(until)}
            value={drawn ?? place}
            onInput={(event) => setDrawn(Number(event.currentTarget.value))}
          />
        </div>
        <Button
          kind="quiet"
          icon={ChevronRight}
          aria-label="Change after"
          disabled={later === undefined}
          onClick={() => later && onAt(later.ts)}
        />
        <Button onClick={() => onAt(null)} disabled={at === null}>
          Now
        </Button>
        <div class="col-start-2 flex justify-between gap-2 text-2xs whitespace-nowrap text-faint max-sm:col-span-4 max-sm:col-start-1">
          <span>{moment(first).slice(0, 19)}</span>
          {/* On phones there is room for it only while the others are looked away from. */}
          <span class={drawn === null ? "max-sm:hidden" : ""}>
            {drawn !== null ? moment(drawn) : at === null ? "" : moment(at)}
          </span>
          <span class={drawn === null ? "" : "max-sm:hidden"}>{moment(last).slice(0, 19)}</span>
        </div>
      </div>
    </div>
  );
}
