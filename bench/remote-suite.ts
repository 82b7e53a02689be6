/** A suite that runs in a process of its own: a heap and compiled code that no other suite has touched. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Suite } from "./suite.js";
import type { SuiteReply, SuiteRequest } from "./suite-process.js";

export interface RemoteOptions {
  /** The compiled suite-process.js of this tree, or of another revision's. */
  readonly program: URL;
  readonly name: string;
}

export async function remoteSuite({ program, name }: RemoteOptions): Promise<Suite> {
  const child = fork(program, [name], { execArgv: ["--expose-gc"], stdio: ["ignore", 2, 2, "ipc"] });
  const suite = await readySuite(child);
  return {
    ...suite,
    cases: suite.cases.map((one, index) => ({
      ...one,
      measure: async () => {
        ask(child, { type: "measure", index });
        const reply = await replyOf(child);
        return reply.type === "measured" ? reply.values : [];
      },
    })),
    close: async () => {
      if (child.exitCode !== null) return;
      const ended = once(child, "exit");
      ask(child, { type: "close" });
      await ended;
    },
  };
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
