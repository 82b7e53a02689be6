/** What the tests of the embedded store share: a folder that goes away, stores that are closed, events to write. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect } from "vitest";
import { compileProgram } from "../../../scripts/embedded-sources.mjs";
import { systemClock } from "../../../src/model/clock.js";
import type { BusError, ErrorCode } from "../../../src/model/errors.js";
import type { EventDraft, StoredEvent } from "../../../src/model/event.js";
import { jsonBody } from "../../../src/model/json.js";
import type { TopicConfig } from "../../../src/model/topic.js";
import {
  type EmbeddedStore,
  type EmbeddedStoreOptions,
  embeddedStore,
} from "../../../src/stores/embedded/index.js";
import { failure } from "../../support/failure.js";

export const TOPIC = "things";

/** A folder per test, and every store opened in it closed at the end. */
export class Workplace {
  folder = "";
  readonly #stores: EmbeddedStore[] = [];

  constructor() {
    beforeEach(async () => {
      this.folder = await mkdtemp(join(tmpdir(), "promethean-embedded-"));
    });
    afterEach(async () => {
      for (const store of this.#stores.splice(0)) await store.close();
      await rm(this.folder, { recursive: true, force: true });
    });
  }

  get path(): string {
    return join(this.folder, "bus.db");
  }

  /** A store on this test's file, opened, with the topic defined. */
  async open(
    options: Partial<EmbeddedStoreOptions> = {},
    topic: Partial<TopicConfig> = {},
  ): Promise<EmbeddedStore> {
    const store = embeddedStore({ path: this.path, ...options });
    await store.open();
    this.#stores.push(store);
    await store.registry.defineTopic({ name: TOPIC, partitions: 2, ...topic }, { ifAbsent: true });
    return store;
  }
}

export function draft(n: number, o: Partial<EventDraft> = {}): EventDraft {
  return {
    id: systemClock.newId(),
    ts: 1_000 + n,
    key: `k${n % 5}`,
    meta: undefined,
    body: jsonBody({ n, text: "some text" }, { maxPayloadBytes: 1_048_576, maxPayloadDepth: 64 }),
    freshId: true,
    ...o,
  };
}

export function drafts(count: number, o: Partial<EventDraft> = {}): EventDraft[] {
  return Array.from({ length: count }, (_, n) => draft(n + 1, o));
}

export async function append(
  store: EmbeddedStore,
  events: readonly EventDraft[],
  partition = 0,
): Promise<readonly StoredEvent[]> {
  const result = await store.log.append(TOPIC, partition, events);
  if (result.error !== undefined) throw result.error;
  return result.events;
}

/** All events of a partition. */
export async function readAll(store: EmbeddedStore, partition = 0): Promise<StoredEvent[]> {
  const all: StoredEvent[] = [];
  for (let after = 0; ; ) {
    const { events, through } = await store.log.read(TOPIC, partition, { after, limit: 500 });
    all.push(...events);
    if (events.length === 0) return all;
    after = through;
  }
}

export async function failsWith(code: ErrorCode, promise: Promise<unknown>): Promise<BusError> {
  const error = await failure(promise);
  expect(error.code).toBe(code);
  return error;
}

/** Waits until `isSo`, or fails after a minute. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`it did not come true within a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Runs a program to its end; its output, line by line. `shell` wraps the command line. */
export async function runProgram(
  source: URL,
  args: readonly string[],
  shell: (command: string) => string = (command) => command,
): Promise<string[]> {
  const program = fileURLToPath(await compileProgram(source));
  const words = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const child = spawn("/bin/sh", ["-c", shell(`exec ${words.join(" ")}`)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${source.pathname} ended with ${code}: ${errors}`);
  return output.split("\n").filter((line) => line !== "");
}
