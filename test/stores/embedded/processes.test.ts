import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { compileProgram } from "../../../scripts/embedded-sources.mjs";
import { START_CURSOR } from "../../../src/ports/groups.js";
import { append, draft, failsWith, readAll, TOPIC, until, Workplace } from "./support.js";

const work = new Workplace();
const peers: Peer[] = [];

afterEach(async () => {
  for (const peer of peers.splice(0)) await peer.kill();
});

class Peer {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  private constructor(program: string) {
    this.#process = spawn(process.execPath, [program, work.path], { stdio: ["pipe", "pipe", "pipe"] });
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  static async start(): Promise<Peer> {
    const peer = new Peer(fileURLToPath(await compileProgram(new URL("./peer.ts", import.meta.url))));
    peers.push(peer);
    expect(await peer.#answer()).toBe("ready");
    return peer;
  }

  ask(command: string): Promise<unknown> {
    this.#process.stdin.write(`${command}\n`);
    return this.#answer();
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "close");
  }

  async #answer(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the peer has ended");
    return JSON.parse(value);
  }
}

describe("several processes on one file", () => {
  it("P2: appends of three processes at once leave no gap, and each seq is given once", async () => {
    const store = await work.open();
    const [first, second] = [await Peer.start(), await Peer.start()];
    const mine = async (): Promise<number[]> => {
      const seqs: number[] = [];
      for (let n = 1; n <= 60; n++) seqs.push((await append(store, [draft(n)]))[0]?.seq ?? 0);
      return seqs;
    };
    const given = await Promise.all([first.ask("append 60 a"), second.ask("append 60 b"), mine()]);
    const seqs = (given as number[][]).flat().sort((a, b) => a - b);
    expect(seqs).toEqual(Array.from({ length: 180 }, (_, i) => i + 1));
    const events = await readAll(store);
    expect(events.map(({ seq }) => seq)).toEqual(seqs);
    for (const label of ["a", "b"]) {
      const payloads = events.filter(({ key }) => key === label).map(({ record }) => record.payload);
      expect(payloads).toEqual(Array.from({ length: 60 }, (_, i) => ({ label, n: i + 1 })));
    }
  });

  it("P3: an id that another process has just written is known here", async () => {
    const store = await work.open();
    const peer = await Peer.start();
    await append(store, [draft(1)]);
    await peer.ask("append 3 a");
    const theirs = (await readAll(store)).at(-1);
    const again = await store.log.append(TOPIC, 1, [draft(9, { id: theirs?.id ?? "", freshId: false })]);
    expect([...again.duplicates]).toEqual([0]);
    expect(again.events[0]).toMatchObject({ seq: 4, partition: 0, key: "a" });
  });

  it("a reader wakes within 50 ms of what another process writes", async () => {
    const store = await work.open();
    const peer = await Peer.start();
    // By a clock that is as late as this process is, on a machine that is busy with something else.
    let ticks = 0;
    const clock = setInterval(() => ticks++, 50);
    let heardAt: number | undefined;
    const stop = store.watch?.(() => {
      heardAt ??= ticks;
    });
    const waits: number[] = [];
    for (let round = 0; round < 15; round++) {
      heardAt = undefined;
      await peer.ask("append 1 time");
      const answeredAt = ticks;
      await until("it was heard", () => heardAt !== undefined);
      waits.push((heardAt ?? 0) - answeredAt);
    }
    stop?.();
    clearInterval(clock);
    expect(waits.sort((a, b) => a - b)[7]).toBeLessThanOrEqual(1);
  });

  it("P7: a partition of a process that was killed is free at once, although its session had an hour left", async () => {
    const store = await work.open();
    const peer = await Peer.start();
    const ref = { topic: TOPIC, group: "g", partition: 0 };
    const nowMs = Date.now();
    const session = { member: "here", host: hostname(), pid: process.pid, processStart: "" };
    await store.groups.open(session, { nowMs, ttlMs: 60_000 });
    expect(await peer.ask("claim g")).toBe(1);
    expect(await store.groups.claim(ref, "here", { nowMs })).toBeNull();
    expect((await store.groups.state(ref, { nowMs }))?.leases[0]?.alive).toBe(true);
    await peer.kill();
    await until("its session counts as dead", async () => {
      return (await store.groups.state(ref, { nowMs }))?.leases[0]?.alive === false;
    });
    expect(await store.groups.claim(ref, "here", { nowMs })).toMatchObject({ epoch: 2, clean: false });
    await failsWith("LEASE_LOST", store.groups.commit(ref, 1, START_CURSOR));
    expect((await store.groups.sessions({ nowMs })).map(({ member }) => member)).toEqual(["here"]);
  });

  it("sessions of other hosts are judged by their time alone", async () => {
    const store = await work.open();
    const nowMs = Date.now();
    await store.groups.open(
      { member: "far", host: "elsewhere", pid: 1, processStart: "" },
      { nowMs, ttlMs: 1_000 },
    );
    expect(await store.groups.sessions({ nowMs })).toHaveLength(1);
    expect(await store.groups.sessions({ nowMs: nowMs + 1_001 })).toHaveLength(0);
  });
});
