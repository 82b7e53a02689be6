/**
 * Work that somebody asked a hub for and that takes a while: redrives, rebuilds, removals. Written down in the store as it goes, so
 * that any hub can tell how it does, or ask for its end; whoever runs it notices at its next note.
 *
 *   running --ends--> done | failed        running --stop--> stopped        running, its hub gone --> lost
 */
import type { Bus } from "../bus/bus.js";
import type { CancelTimer } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { JsonObject, JsonValue } from "../model/json.js";

const PREFIX = "hub-job:";
const NOTE_MS = 500;
const LOST_MS = 30_000;
const KEPT = 100;

export type JobState = "running" | "done" | "failed" | "stopped" | "lost";

export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly actor: string;
  readonly state: JobState;
  readonly startedMs: number;
  readonly notedMs: number;
  readonly endedMs?: number;
  readonly progress: JsonObject;
  readonly result?: JsonValue;
  readonly error?: { readonly code: string; readonly detail: string };
  /** Somebody asked for its end. */
  readonly stopping?: true;
}

/** The work itself: `note` tells how far it is. */
export type JobWork = (o: { signal: AbortSignal; note: (progress: JsonObject) => void }) => Promise<unknown>;

export class Jobs {
  readonly #bus: Bus;
  readonly #running = new Map<string, { readonly over: AbortController; readonly done: Promise<void> }>();

  #isClosed = false;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Resolves once it is written down; the work goes on. */
  async start(o: { kind: string; target: string; actor: string }, work: JobWork): Promise<Job> {
    const { clock } = this.#bus;
    const nowMs = clock.now();
    const job: Job = {
      id: clock.newId(),
      ...o,
      state: "running",
      startedMs: nowMs,
      notedMs: nowMs,
      progress: {},
    };
    this.#checkOpen();
    const revision = await this.#put(job, 0);
    await this.#forgetOld();
    if (this.#isClosed) await this.#put({ ...job, state: "stopped", endedMs: clock.now() }, revision);
    this.#checkOpen();
    const over = new AbortController();
    const done = this.#run(job, revision, work, over).finally(() => this.#running.delete(job.id));
    this.#running.set(job.id, { over, done });
    return job;
  }

  async get(id: string): Promise<Job | null> {
    const token = await this.#bus.store.registry.token(PREFIX + id);
    return token === null ? null : this.#seen(token.value as unknown as Job);
  }

  /** Newest first. */
  async list(): Promise<Job[]> {
    const tokens = await this.#bus.store.registry.tokens(PREFIX);
    const jobs = [...tokens.values()].map(({ value }) => this.#seen(value as unknown as Job));
    return jobs.sort((a, b) => b.startedMs - a.startedMs || (a.id < b.id ? 1 : -1));
  }

  /** Asks for its end, wherever it runs; what it has done stays done. */
  async stop(id: string): Promise<Job | null> {
    for (;;) {
      const token = await this.#bus.store.registry.token(PREFIX + id);
      if (token === null) return null;
      const job = token.value as unknown as Job;
      if (job.state !== "running") return job;
      const stopping: Job = { ...job, stopping: true };
      try {
        await this.#put(stopping, token.revision);
        this.#running.get(id)?.over.abort();
        return stopping;
      } catch (error) {
        if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
      }
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new BusError("CLOSED", "the hub is going down");
  }

  /** Ends what runs here, and begins nothing more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#running.values()];
    for (const { over } of running) over.abort();
    await Promise.all(running.map(({ done }) => done));
  }

  async #run(job: Job, revision: number, work: JobWork, over: AbortController): Promise<void> {
    const notes = new Notes(job, revision, this.#bus, (one, expected) => this.#put(one, expected), over);
    let end: Partial<Job>;
    try {
      const result = await work({ signal: over.signal, note: notes.note });
      end = { state: over.signal.aborted ? "stopped" : "done", result: (result ?? null) as JsonValue };
    } catch (thrown) {
      const { code, message } = BusError.from(thrown);
      end = { state: over.signal.aborted ? "stopped" : "failed", error: { code, detail: message } };
    }
    await notes.end({ ...end, endedMs: this.#bus.clock.now() });
  }

  #put(job: Job, expected: number): Promise<number> {
    return this.#bus.store.registry.putToken(PREFIX + job.id, job as unknown as JsonValue, { expected });
  }

  /** Whose hub has not noted anything for long was killed with it. */
  #seen(job: Job): Job {
    const silentMs = this.#bus.clock.now() - job.notedMs;
    return job.state === "running" && silentMs > LOST_MS ? { ...job, state: "lost" } : job;
  }

  /** One that runs stays, however many came after it: it is still to be told of, and stopped. */
  async #forgetOld(): Promise<void> {
    const { registry } = this.#bus.store;
    const ended = (await this.list()).filter(({ state }) => state !== "running");
    for (const { id } of ended.slice(KEPT)) {
      const token = await registry.token(PREFIX + id);
      if (token !== null)
        await registry.putToken(PREFIX + id, null, { expected: token.revision }).catch(() => 0);
    }
  }
}

/** Writes a job down again and again while it runs: also when it says nothing new, as a sign of life. */
class Notes {
  readonly #bus: Bus;
  readonly #put: (job: Job, expected: number) => Promise<number>;
  readonly #over: AbortController;
  #cancel: CancelTimer;
  #job: Job;
  #revision: number;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    job: Job,
    revision: number,
    bus: Bus,
    put: (job: Job, expected: number) => Promise<number>,
    over: AbortController,
  ) {
    this.#job = job;
    this.#revision = revision;
    this.#bus = bus;
    this.#put = put;
    this.#over = over;
    this.#cancel = this.#schedule();
  }

  #schedule(): CancelTimer {
    return this.#bus.clock.setTimer(NOTE_MS, () => {
      this.#writing = this.#writing.then(() => this.#write());
      this.#cancel = this.#schedule();
    });
  }

  readonly note = (progress: JsonObject): void => {
    this.#job = { ...this.#job, progress: { ...progress } };
  };

  async end(end: Partial<Job>): Promise<void> {
    this.#cancel();
    await this.#writing;
    this.#job = { ...this.#job, ...end };
    await this.#write();
  }

  #stop(): void {
    this.#job = { ...this.#job, stopping: true };
    this.#over.abort();
  }

  /** A store that is away is asked again at the next turn. */
  async #write(): Promise<void> {
    for (let tries = 0; tries < 3; tries++) {
      try {
        this.#job = { ...this.#job, notedMs: this.#bus.clock.now() };
        this.#revision = await this.#put(this.#job, this.#revision);
        return;
      } catch (error) {
        if (!BusError.is(error, "WRITE_CONFLICT")) return;
        const token = await this.#bus.store.registry.token(PREFIX + this.#job.id).catch(() => null);
        if (token === null) return;
        this.#revision = token.revision;
        // Else it was a write of its own, whose answer was lost.
        if ((token.value as unknown as Job).stopping) this.#stop();
      }
    }
  }
}
