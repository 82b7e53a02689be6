/**
 * What was done, or could not be, in a corner for a few seconds; read out by screen readers. While a dialog is open, the browser
 * shows, reads out and lets press only what is inside: so each dialog has a corner of its own, and the newest one counts.
 */
import { signal } from "@preact/signals";
import { CircleAlert, CircleCheck, X } from "lucide-preact";
import { useEffect, useId } from "preact/hooks";

interface Toast {
  readonly number: number;
  readonly tone: "good" | "bad";
  readonly title: string;
  readonly detail: string | undefined;
}

const shown = signal<readonly Toast[]>([]);
/** Corners of open dialogs, the newest last. */
const corners = signal<readonly string[]>([]);
let last = 0;
const GOOD_MS = 4_000;
const BAD_MS = 10_000;

export function toast(tone: Toast["tone"], title: string, detail?: string): void {
  const number = ++last;
  shown.value = [...shown.value.slice(-3), { number, tone, title, detail }];
  setTimeout(() => dismiss(number), tone === "good" ? GOOD_MS : BAD_MS);
}

function dismiss(number: number): void {
  shown.value = shown.value.filter((one) => one.number !== number);
}

export function Toasts() {
  return <Corner isUsed={corners.value.length === 0} />;
}

export function DialogToasts() {
  const id = useId();
  useEffect(() => {
    corners.value = [...corners.value, id];
    return () => {
      corners.value = corners.value.filter((one) => one !== id);
    };
  }, []);
  return <Corner isUsed={corners.value.at(-1) === id} />;
}

function Corner({ isUsed }: { readonly isUsed: boolean }) {
  const toasts = isUsed ? shown.value : [];
  return (
    <div
      role="status"
      aria-live="polite"
      class="print:hidden pointer-events-none fixed right-4 bottom-4 z-50 flex w-[min(24rem,calc(100vw-2rem))] flex-col gap-2 max-sm:bottom-18"
    >
      {toasts.map(({ number, tone, title, detail }) => (
        <div
          key={number}
          class="card slide-in pointer-events-auto flex items-start gap-2.5 border-line-strong p-3"
        >
          {tone === "good" ? (
            <CircleCheck size={16} class="mt-0.5 shrink-0 text-good" aria-hidden="true" />
          ) : (
            <CircleAlert size={16} class="mt-0.5 shrink-0 text-bad" aria-hidden="true" />
          )}
          <div class="min-w-0 flex-1">
            <div class="text-sm font-medium">{title}</div>
            {detail !== undefined && <div class="mt-0.5 text-xs break-words text-soft">{detail}</div>}
          </div>
          <button
            type="button"
            aria-label="Dismiss"
            class="flex size-6 shrink-0 items-center justify-center rounded text-faint hover:text-ink max-sm:-m-2 max-sm:size-10"
            onClick={() => dismiss(number)}
          >
            <X size={14} aria-hidden="true" />
          </button>
        </div>
      ))}
    </div>
  );
}
