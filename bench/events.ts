/** The events that every suite sends: about 300 bytes of JSON each, under one of 1,000 keys. */

const KEYS = 1_000;

const payloads = Array.from({ length: KEYS }, (_, n) => ({
  host: `host-${n % 50}`,
  name: "worker",
  pid: 1_000 + n,
  status: n % 7 === 0 ? "stale" : "alive",
  cpu_pct: (n % 1_000) / 10,
  mem_mb: 123.5 + n,
  last_seen_ts: 1_700_000_000_000 + n,
  labels: { zone: "zone-a", release: "2026.1.0", role: "ingest", team: "platform" },
  tags: ["metrics", "heartbeat", "production"],
  note: "an event of ordinary size",
}));
const keys = payloads.map(({ host, name, pid }) => `${host}:${name}:${pid}`);

export type Payload = (typeof payloads)[number];

export function payloadOf(n: number): Payload {
  return payloads[n % KEYS] as Payload;
}

export function keyOf(n: number): string {
  return keys[n % KEYS] as string;
}

/** One by one, each awaited only when `window` others have been sent after it. */
export async function windowed(
  count: number,
  window: number,
  send: (n: number) => Promise<unknown>,
): Promise<void> {
  const sent: Promise<unknown>[] = new Array(Math.min(window, count));
  for (let n = 0; n < count; n++) {
    if (n >= window) await sent[n % window];
    sent[n % window] = send(n);
  }
  await Promise.all(sent);
}

/** Events a second. */
export async function perSecond(events: number, work: () => Promise<unknown>): Promise<number> {
  return (1_000 * events) / (await milliseconds(work));
}

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Events a second, and microseconds of processor time for each: the latter minds others on the machine less. */
export async function timed(events: number, work: () => Promise<unknown>): Promise<readonly number[]> {
  const before = process.cpuUsage();
  const rate = await perSecond(events, work);
  const { user, system } = process.cpuUsage(before);
  return [rate, (user + system) / events];
}

/** Resolves `all` when `one` was called so many times. */
export function countdown(times: number): { readonly all: Promise<void>; one(): void } {
  let left = times;
  let finish: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return {
    all,
    one: () => {
      if (--left === 0) finish();
    },
  };
}
