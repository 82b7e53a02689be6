/**
 * A suite in processes of its own: heaps and compiled code that no other suite has touched, and of its cases only those of
 * the same place.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Suite } from "./suite.js";
import type { SuiteReply, SuiteRequest } from "./suite-process.js";

export interface RemoteOptions {
  /** The compiled suite-process.js of this tree, or of another revision's. */
  readonly program: URL;
  readonly name: string;
}

export async function remoteSuite(o: RemoteOptions): Promise<Suite> {
  const first = start(o);
  const suite = await readySuite(first);
  const places = new Map<string, Promise<ChildProcess>>();
  const childFor = (place: string | undefined): Promise<ChildProcess> => {
    const key = place ?? "";
    const child = places.get(key) ?? (places.size === 0 ? Promise.resolve(first) : started(o));
    places.set(key, child);
    return child;
  };
  return {
    ...suite,
    cases: suite.cases.map((one, index) => ({
      ...one,
      measure: async () => {
        const child = await childFor(one.place);
        ask(child, { type: "measure", index });
        const reply = await replyOf(child);
        return reply.type === "measured" ? reply.values : [];
      },
    })),
    close: async () => {
      const children = await Promise.allSettled(places.values());
      const running = children.flatMap((child) => (child.status === "fulfilled" ? [child.value] : []));
      await Promise.all([...new Set([first, ...running])].map(close));
    },
  };
}

/** With the flags of this process: a profile of it is one of the suite, too. */
function start({ program, name }: RemoteOptions): ChildProcess {
  const execArgv = [...new Set(["--expose-gc", ...process.execArgv])];
  return fork(program, [name], { execArgv, stdio: ["ignore", 2, 2, "ipc"] });
}

async function started(o: RemoteOptions): Promise<ChildProcess> {
  const child = start(o);
  await readySuite(child);
  return child;
}

async function close(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  ask(child, { type: "close" });
  await ended;
}

/** A process that does not get ready is of no use to anybody. */
async function readySuite(child: ChildProcess): Promise<Suite> {
  try {
    const reply = await replyOf(child);
    if (reply.type === "ready") return reply.suite;
    throw new Error(`it said ${reply.type} before it was ready`);
  } catch (error) {
    child.kill();
    throw error;
  }
}

function ask(child: ChildProcess, request: SuiteRequest): void {
  child.send(request);
}

async function replyOf(child: ChildProcess): Promise<SuiteReply> {
  const gone = new AbortController();
  try {
    const [reply] = (await Promise.race([
      once(child, "message", { signal: gone.signal }),
      once(child, "exit", { signal: gone.signal }).then(([code]) => {
        throw new Error(`the suite's process ended with ${code}`);
      }),
    ])) as [SuiteReply];
    if (reply.type === "failed") throw new Error(reply.message);
    return reply;
  } finally {
    gone.abort();
  }
}
