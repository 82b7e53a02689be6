/** The present, once a second for everybody, and times told against it. */
import { computed, signal } from "@preact/signals";
import { hubAheadMs } from "../data/hub-clock.js";
import { ago, clock, moment, zone } from "./format.js";

/** By the browser's own clock: for what it has measured itself. */
export const localNow = signal(Date.now());

/** By the hub's. */
export const now = computed(() => localNow.value + hubAheadMs.value);

setInterval(() => {
  if (!document.hidden) localNow.value = Date.now();
}, 1_000);

export function Ago({ ts }: { readonly ts: number }) {
  return (
    <time dateTime={isoOf(ts)} title={`${moment(ts)} ${zone(ts)}`} class="whitespace-nowrap">
      {ago(ts, now.value)}
    </time>
  );
}

/** The time of day. */
export function Clock({ ts }: { readonly ts: number }) {
  return (
    <time dateTime={isoOf(ts)} title={`${moment(ts)} ${zone(ts)}`} class="mono">
      {clock(ts)}
    </time>
  );
}

export function Moment({ ts }: { readonly ts: number }) {
  return (
    <time dateTime={isoOf(ts)} title={ago(ts, now.value)} class="mono">
      <span class="whitespace-nowrap">{moment(ts)}</span> <span class="text-faint">{zone(ts)}</span>
    </time>
  );
}

function isoOf(ts: number): string | undefined {
  const at = new Date(ts);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
