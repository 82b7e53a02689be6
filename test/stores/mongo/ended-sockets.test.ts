import { expect, it } from "vitest";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { TcpProxy } from "../../faults/tcp-proxy.js";
import { newDatabaseName, sharedServerUrl } from "../../support/mongo/shared-server.js";

const ROUNDS = 20;
const IDLE_CONNECTIONS = 10;
const TURNS = 30;
const ANSWERED_MS = 30_000;

it("P15: calls that begin while idle connections end are answered, each of them", async () => {
  const proxy = await TcpProxy.start(Number(new URL(await sharedServerUrl()).port));
  const url = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
  const store = mongoStore({ url, db: newDatabaseName(), onWarning: () => undefined });
  await store.open();
  const open = new Set<Promise<unknown>>();
  const call = (): Promise<unknown> => {
    const answer: Promise<unknown> = store.registry.topics().then(
      () => open.delete(answer),
      () => open.delete(answer),
    );
    open.add(answer);
    return answer;
  };
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(Array.from({ length: IDLE_CONNECTIONS }, call));
    proxy.cut();
    proxy.mend();
    // One call in each turn of the event loop, so that some fall between the end of a socket and its telling so.
    for (let turn = 0; turn < TURNS; turn++) {
      void call();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  await expect.poll(() => open.size, { timeout: ANSWERED_MS }).toBe(0);
  await store.close();
  await proxy.close();
});
