/**
 * `promethean subscribe`: consumes a topic as a group. With --exec a program runs for each event, with the event on its
 * stdin: exit code 0 settles it, another one asks for a retry, in the end it is a dead letter.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import type { Command } from "commander";
import { type ClientContext, PromClient } from "../../client/index.js";
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import { type Place, place, positiveSpan, wholeNumber } from "../arguments.js";
import { eventLine, terminalColumns } from "../event-line.js";
import { failure, usageError } from "../exit.js";
import { newCommand } from "../own-command.js";
import { perform, type Session, withConnection } from "../session.js";
import { troublesInWords } from "../troubles.js";

interface SubscribeOptions {
  readonly group: string;
  readonly exec?: string;
  readonly from: Place;
  readonly limit?: number;
  readonly concurrency: number;
  readonly maxAttempts?: number;
  readonly ackTimeout?: number;
}

const MAX_REASON_BYTES = 4_096;
/** Of the places that commands know. */
const BEGINNINGS = '"earliest", "latest", a time, a span such as "-15m", or "id:<event>", behind that event';
/** As long as a hub lets an event be held: one that waits here is not to miss its deadline. */
const HELD_MS = 3_600_000;

export function subscribeCommand(): Command {
  const command = newCommand(
    "subscribe",
    "Consumes a topic as a group: each event is settled once it is handled.",
    [
      "promethean subscribe orders.placed --group mailer --from earliest --limit 1",
      "promethean subscribe orders.placed --group printer --from earliest --limit 1 --exec cat",
      "promethean subscribe 'orders.**' --group audit --from earliest --json --limit 1",
    ],
  )
    .argument("<topic>", 'the topic, or a pattern: "orders.*", "orders.**"')
    .requiredOption("-g, --group <group>", "the group: its place is kept")
    .option(
      "-x, --exec <command>",
      "a shell command for each event, with the event as JSON on its stdin, and PROMETHEAN_EVENT_ID, …_KEY, …_TOPIC and …_ATTEMPT in its environment",
    )
    .option("--from <place>", `where a group that is new begins: ${BEGINNINGS}`, place, "latest" as Place)
    .option(
      "-n, --limit <n>",
      "stop after this many events were settled: handled, or given up after their last try",
      wholeNumber(1),
    )
    .option("-c, --concurrency <n>", "events handled at once, each key in order", wholeNumber(1, 1_000), 1)
    .option("--max-attempts <n>", "tries before an event becomes a dead letter", wholeNumber(1))
    .option("--ack-timeout <span>", "how long a try may take", positiveSpan);
  return withConnection(command).action(perform<SubscribeOptions, [string]>(subscribe));
}

async function subscribe(session: Session<SubscribeOptions>, topic: string): Promise<void> {
  const { options, signal } = session;
  const backend = await session.connect();
  // A wrong address or token shows here, in words; the client below would try again for good.
  await backend.get("/topics");
  const work = new Work(session);
  const tell = troublesInWords({ givenUp: true });
  const client = new PromClient(backend.url, {
    onTrouble: (trouble) => {
      tell(trouble);
      if (trouble.givenUp) work.gaveUp();
    },
    ...(backend.token !== undefined && { token: backend.token }),
  });
  session.onEnd(() => client.close());
  const refused = refusalOf(client);
  await client.connect();
  const stop = await client.subscribe(
    topic,
    options.group,
    (event, ctx) => work.handle(event, ctx),
    wireOptions(options),
  );
  await Promise.race([work.finished(signal), refused]);
  await stop();
}

/** Rejects if a hub that the client comes back to does not take its token: it does not try again then. */
function refusalOf(client: PromClient): Promise<never> {
  const refused = new Promise<never>((_, reject) => {
    client.onStatus((status, error) => {
      if (status === "closed" && error !== undefined)
        reject(failure("UNAUTHENTICATED", error.message, { cause: error }));
    });
  });
  refused.catch(() => undefined);
  return refused;
}

function wireOptions({ from, concurrency, maxAttempts, ackTimeout }: SubscribeOptions) {
  return {
    ...begin(from),
    maxInFlight: concurrency,
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(ackTimeout !== undefined && { ackTimeoutMs: ackTimeout }),
  };
}

function begin(from: Place): {
  from: "earliest" | "latest" | "ts" | "afterId";
  ts?: number;
  afterId?: string;
} {
  if (typeof from === "string") return { from };
  if ("ts" in from) return { from: "ts", ts: from.ts };
  if ("id" in from) return { from: "afterId", afterId: from.id };
  throw usageError(
    "a group begins at earliest, latest, a time or id:<event>; `promethean cursor set` knows seq:<n>",
  );
}

/** Handles events one after the other, or some at once, until there were enough. */
class Work {
  readonly #session: Session<SubscribeOptions>;
  readonly #running = new Set<ChildProcess>();
  /** Events that may still be begun, and that are still to be settled. */
  #free: number;
  #left: number;
  /** Of those that failed, how many will not come again. */
  #givenUp = 0;
  /** Those beyond: they wait for one that fails and comes again, or go back untried when this ends. */
  readonly #waiting: (() => void)[] = [];
  #enough: () => void = () => undefined;
  readonly #done: Promise<void>;

  constructor(session: Session<SubscribeOptions>) {
    this.#session = session;
    this.#left = session.options.limit ?? Number.POSITIVE_INFINITY;
    this.#free = this.#left;
    this.#done = new Promise((resolve) => {
      this.#enough = resolve;
    });
  }

  /** Resolves at the limit, or when the signal comes; programs that run are let finish. */
  async finished(signal: AbortSignal): Promise<void> {
    const stopped = signal.aborted ? undefined : once(signal, "abort");
    await Promise.race([this.#done, stopped]);
    await Promise.all([...this.#running].map((child) => once(child, "close")));
  }

  async handle(event: EventRecord, ctx: ClientContext): Promise<void> {
    const { out, options } = this.#session;
    await this.#begin(ctx);
    try {
      if (options.exec !== undefined) await this.#run(options.exec, event, ctx);
      else out.line(out.json ? JSON.stringify(event) : eventLine(event, terminalColumns()));
    } catch (error) {
      // By then it is known whether this was the last try.
      setImmediate(this.#failed);
      throw error;
    }
    this.#settled();
  }

  /** An event whose handling has just failed was tried for the last time: it is settled by that. */
  gaveUp(): void {
    this.#givenUp++;
  }

  #settled(): void {
    if (--this.#left <= 0) setImmediate(this.#enough);
  }

  readonly #failed = (): void => {
    if (this.#givenUp > 0) {
      this.#givenUp--;
      this.#settled();
      return;
    }
    this.#free++;
    this.#waiting.shift()?.();
  };

  /** Takes a place. Of those who wait, none is refused: that would count as a try. */
  async #begin(ctx: ClientContext): Promise<void> {
    while (this.#free <= 0 || this.#session.signal.aborted) {
      ctx.extend(HELD_MS);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#free--;
  }

  async #run(command: string, event: EventRecord, ctx: ClientContext): Promise<void> {
    const child = spawn(command, {
      shell: true,
      // Past us it would be the program that fails when nobody reads any more, and its event would be tried again and given up.
      stdio: ["pipe", process.stdout.isTTY ? "inherit" : "pipe", "pipe"],
      env: {
        ...process.env,
        PROMETHEAN_EVENT_TOPIC: event.topic,
        PROMETHEAN_EVENT_ID: event.id,
        PROMETHEAN_EVENT_KEY: event.key ?? "",
        PROMETHEAN_EVENT_ATTEMPT: String(ctx.attempt),
      },
    });
    this.#running.add(child);
    const abort = (): void => void child.kill("SIGTERM");
    ctx.signal.addEventListener("abort", abort, { once: true });
    try {
      await settled(child, JSON.stringify(event));
    } finally {
      ctx.signal.removeEventListener("abort", abort);
      this.#running.delete(child);
    }
  }
}

/** No faster than it is read. A reader that is gone ends this command, with the event not settled. */
function passOn(output: Readable): void {
  output.on("data", (chunk: Buffer) => {
    if (process.stdout.write(chunk)) return;
    output.pause();
    process.stdout.once("drain", () => output.resume());
  });
}

/** Resolves if the program ends with 0; else rejects with the last thing it said. */
async function settled(child: ChildProcess, input: string): Promise<void> {
  let said = "";
  if (child.stdout !== null) passOn(child.stdout);
  child.stderr?.on("data", (chunk: Buffer) => {
    process.stderr.write(chunk);
    said = (said + chunk.toString()).slice(-MAX_REASON_BYTES);
  });
  // A program that does not read its input is not at fault.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(`${input}\n`);
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (code === 0) return;
  const last = said.trim().split("\n").at(-1);
  const ending = code === null ? `ended by ${signal}` : `exit code ${code}`;
  throw new BusError("HANDLER_FAILED", last ? `${last} (${ending})` : ending);
}
