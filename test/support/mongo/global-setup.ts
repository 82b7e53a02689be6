/**
 * One replica set for a whole vitest run. It is started when the first test asks for it, by this process, which
 * outlives the workers; a run without MongoDB tests starts none.
 */
import { createServer, type Server, type Socket } from "node:net";
import type { TestProject } from "vitest/node";
import { ReplicaSet } from "./replica-set.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Port on which a test asks for the server's address. */
    readonly mongoDoor: number;
  }
}

interface Shared {
  set?: Promise<ReplicaSet> | undefined;
}
const PLACE = Symbol.for("promethean: the replica set of a vitest run");
/** Each project may load this module anew: what they share is where all of them find it. */
const everywhere = globalThis as { [PLACE]?: Shared };
everywhere[PLACE] ??= {};
const shared = everywhere[PLACE];
/** One per project that asked. */
const doors: Server[] = [];

export async function setup(project: TestProject): Promise<void> {
  const door = createServer((socket: Socket) => {
    socket.on("error", () => socket.destroy());
    shared.set ??= ReplicaSet.start({ cacheGb: 0.5 });
    shared.set.then(
      ({ url }) => socket.end(JSON.stringify({ url })),
      (error: Error) => socket.end(JSON.stringify({ error: error.message })),
    );
  });
  doors.push(door);
  project.provide("mongoDoor", await listen(door));
}

export async function teardown(): Promise<void> {
  for (const door of doors.splice(0)) await new Promise((resolve) => door.close(resolve));
  const { set } = shared;
  shared.set = undefined;
  const started = await set?.catch(() => undefined);
  await started?.dispose();
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") reject(new Error("no port was given"));
      else resolve(address.port);
    });
  });
}
