import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { defineTopic } from "../../model/topic.js";
import { rebuildView } from "../../project/rebuild/rebuild.js";
import { rollbackView } from "../../project/rebuild/view-rollback.js";
import { startChangelogProjector } from "../../project/views/changelog.js";
import { interceptStore } from "../../testing/store-calls.js";

const Processes = defineTopic("process.state", { keyed: true, partitions: 2 });

describe("views over HTTP", () => {
  let f: HubFixture;
  let projector: { stop(): Promise<void> };
  beforeEach(async () => {
    f = await hubFixture({
      bus: { topics: [Processes] },
      tokens: { reader: ["read:process.*"], other: ["read:processes", "read:orders.*"] },
    });
    projector = await startChangelogProjector(f.bus, { topic: Processes, view: "processes" });
    for (let n = 0; n < 5; n++)
      await f.bus.publish(
        Processes,
        { pid: n, status: n % 2 ? "stale" : "ok", "a.b": 1 },
        { key: `p/${n}`, ts: 1_000 + n },
      );
    await expect.poll(async () => (await f.bus.admin.lag())[0]?.lag).toBe(0);
  });
  afterEach(() => f.close());

  it("removes a view once its projector does not run", async () => {
    const remove = (o: object = {}, init?: RequestInit): Promise<Response> =>
      f.post("/views/processes/remove", o, init);
    expect((await remove()).status).toBe(409);
    await projector.stop();
    expect((await remove({}, as("reader"))).status).toBe(403);
    expect(await (await remove({ dryRun: true })).json()).toMatchObject({ removed: false, documents: 5 });
    expect((await f.get("/snap/processes/p%2F1")).status).toBe(200);
    expect(await (await remove()).json()).toEqual({
      ...{ view: "processes", removed: true },
      ...{ documents: 5, others: [] },
    });
    expect((await f.get("/snap/processes/p%2F1")).status).toBe(404);
    expect(await (await f.get("/groups")).json()).toEqual({ items: [] });
  });

  it("gives a document with an ETag, and 304 to those who have it", async () => {
    const response = await f.get("/snap/processes/p%2F1");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ pid: 1, "a.b": 1, _key: "p/1" });
    const etag = response.headers.get("etag") as string;
    const again = await f.get("/snap/processes/p%2F1", { headers: { "if-none-match": `W/"x", ${etag}` } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    await f.bus.publish(Processes, { pid: 1, status: "gone" }, { key: "p/1" });
    await expect
      .poll(async () => (await f.get("/snap/processes/p%2F1", { headers: { "if-none-match": etag } })).status)
      .toBe(200);
    const head = await f.get("/snap/processes/p%2F1", { method: "HEAD" });
    expect([head.status, head.headers.get("etag") === etag, await head.text()]).toEqual([200, false, ""]);
    const missing = async (path: string): Promise<unknown> => {
      const answer = await f.get(path);
      return [answer.status, ((await answer.json()) as { detail: string }).detail];
    };
    expect(await missing("/snap/processes/none")).toEqual([404, "processes has no none"]);
    expect(await missing("/snap/proceses/p1")).toEqual([404, "there is no view proceses"]);
  });

  it("has news for those who had a document before a rebuild made another of it", async () => {
    let factor = 1;
    const map = ({ payload }: { payload: unknown }) => ({ pid: (payload as { pid: number }).pid * factor });
    await startChangelogProjector(f.bus, { topic: Processes, view: "factors", map });
    const path = "/snap/factors/p%2F1";
    await expect.poll(async () => (await f.get(path)).status).toBe(200);
    const first = await f.get(path);
    const asked = { headers: { "if-none-match": first.headers.get("etag") as string } };
    factor = 2;
    await (await rebuildView(f.bus, "factors")).result;
    const second = await f.get(path, asked);
    expect(second.status).toBe(200);
    expect([await first.json(), await second.json()]).toMatchObject([
      { pid: 1, _v: 1 },
      { pid: 2, _v: 1 },
    ]);
    await rollbackView(f.bus, "factors");
    expect((await f.get(path, asked)).status).toBe(304);
  });

  it("takes no view for a build of another that cannot be one", async () => {
    await startChangelogProjector(f.bus, { topic: Processes, view: "processes__1" });
    await expect.poll(async () => (await f.get("/snap/processes__1/p%2F1")).status).toBe(200);
    const page = (await (await f.get("/snap/processes__1")).json()) as { items: unknown[] };
    expect(page.items).toHaveLength(5);
    const { items } = (await (await f.get("/views")).json()) as { items: { view: string }[] };
    expect(items.map(({ view }) => view)).toEqual(["processes", "processes__1"]);
  });

  it("gives the document of any key, also of one that no path holds", async () => {
    for (const key of [".", "..", "a/b", "%", "é"]) {
      const { partition, seq } = await f.bus.publish(Processes, { status: key }, { key });
      const path = `/snap/processes?key=${encodeURIComponent(key)}`;
      const response = await f.get(`${path}&min=${partition}:${seq}`);
      expect(await response.json()).toMatchObject({ _key: key, status: key });
      const etag = response.headers.get("etag") as string;
      expect((await f.get(path, { headers: { "if-none-match": etag } })).status).toBe(304);
      expect((await f.get(`${path}&at=1`)).status).toBe(404);
    }
    for (const more of ["limit=1", "where.pid=1", "order=pid"])
      expect([more, (await f.get(`/snap/processes?key=p%2F1&${more}`)).status]).toEqual([more, 400]);
    expect((await f.get("/snap/processes?key=p%2F1", as("other"))).status).toBe(403);
    expect((await f.get("/snap/nothing?key=a")).status).toBe(404);
  });

  it("takes a key alone where there is one view", async () => {
    expect(await (await f.get("/snap/p%2F2")).json()).toMatchObject({ pid: 2 });
    await f.bus.store.documents.define("second", []);
    expect((await f.get("/snap/p%2F2")).status).toBe(400);
    expect((await f.get("/snap/third")).status).toBe(404);
  });

  it("waits until the view has taken in an event, and says so if it does not", async () => {
    for (let n = 0; n < 20; n++) {
      const { partition, seq } = await f.bus.publish(Processes, { pid: 3, n }, { key: "p/3" });
      const response = await f.get(`/snap/processes/p%2F3?min=${partition}:${seq}`);
      expect(await response.json()).toMatchObject({ n });
    }
    const late = await f.get("/snap/processes/p%2F3?min=0:999999&wait_ms=20");
    expect([late.status, ((await late.json()) as { code: string }).code]).toEqual([504, "ACK_TIMEOUT"]);
    expect((await f.get("/snap/processes/p%2F3?min=soon")).status).toBe(400);
  });

  it("says at once that the topic has no such partition, whoever feeds the view", async () => {
    for (const query of ["min=7:1", "min=0:1,7:1", "min=7:1&group=nobody"]) {
      const response = await f.get(`/snap/processes?${query}`);
      const { code, detail } = (await response.json()) as { code: string; detail: string };
      expect([query, response.status, code]).toEqual([query, 400, "BAD_REQUEST"]);
      expect(detail).toMatch(/partition 7, but \S+ has \d/);
    }
    const absent = await f.get("/snap/processes?min=0:1&group=nobody&wait_ms=1");
    expect(absent.status).toBe(504);
  });

  it("P15: asks once whether the topic has the partitions, however often it looks while it waits", async () => {
    let [asked, looked] = [0, 0];
    const store = interceptStore(f.bus.store, {
      around: (call, proceed) => {
        if (call.name === "registry.topic") asked++;
        if (call.name === "groups.state") looked++;
        return proceed();
      },
      // It is open, and stays so.
      open: async () => undefined,
      close: async () => undefined,
    });
    const watched = await hubFixture({ bus: { store } });
    // Nobody is in the group yet, so that it does not say which partitions there are.
    const late = await watched.get("/snap/processes?min=0:1&group=nobody&wait_ms=30");
    await watched.close();
    expect(late.status).toBe(504);
    expect(looked).toBeGreaterThan(1);
    expect(asked).toBe(1);
  });

  it("shows a document, and the view, as it was", async () => {
    await f.bus.publish(Processes, { pid: 1, status: "new" }, { key: "p/1", ts: 9_000 });
    const then = await f.get("/snap/processes/p%2F1?at=5000");
    expect(await then.json()).toMatchObject({ status: "stale" });
    const iso = await f.get(`/snap/processes/p%2F1?at=${new Date(9_000).toISOString()}`);
    expect(await iso.json()).toMatchObject({ status: "new" });
    expect((await f.get("/snap/processes/p%2F1?at=10")).status).toBe(404);
    expect((await f.get("/snap/processes/p%2F1?at=noon")).status).toBe(400);
    const page = (await (await f.get("/snap/processes?at=1002&limit=2")).json()) as {
      items: object[];
      next: string;
    };
    expect(page).toMatchObject({ items: [{ pid: 0 }, { pid: 1 }], next: expect.any(String) });
    const rest = await f.get(`/snap/processes?at=1002&limit=2&after=${encodeURIComponent(page.next)}`);
    expect(await rest.json()).toMatchObject({ items: [{ pid: 2 }], next: null });
  });

  it("finds documents by fields, in order, page by page; values are data", async () => {
    const find = async (query: string): Promise<unknown[]> => {
      const response = await f.get(`/snap/processes?${query}`);
      expect([query, response.status]).toEqual([query, 200]);
      return ((await response.json()) as { items: { pid: number }[] }).items.map(({ pid }) => pid);
    };
    expect(await find("where.status=stale")).toEqual([1, 3]);
    expect(await find("where.status=ok&order=-pid")).toEqual([4, 2, 0]);
    expect(await find("where.pid%5Bgte%5D=3")).toEqual([3, 4]);
    expect(await find("where.pid%5Bin%5D=0,4")).toEqual([0, 4]);
    expect(await find('where.pid="1"')).toEqual([]);
    expect(await find("where.$where=1")).toEqual([]);
    expect(await find("where._key%5Bprefix%5D=p/&limit=2")).toEqual([0, 1]);
    const first = (await (await f.get("/snap/processes?limit=3")).json()) as { next: string };
    expect(await find(`limit=3&after=${encodeURIComponent(first.next)}`)).toEqual([3, 4]);
    for (const query of [
      "status=ok",
      "limit=0",
      "after=nonsense",
      "at=1&order=pid",
      "where.pid%5Bgt%5D=null",
    ])
      expect([query, (await f.get(`/snap/processes?${query}`)).status]).toEqual([query, 400]);
  });

  it("opens a view to those who may read the topic it is made of, and to no others", async () => {
    for (const path of ["/snap/processes/p%2F1", "/snap/processes"]) {
      expect([path, (await f.get(path, as("reader"))).status]).toEqual([path, 200]);
      expect([path, (await f.get(path, as("other"))).status]).toEqual([path, 403]);
    }
    const views = async (token: string): Promise<unknown> => (await f.get("/views", as(token))).json();
    expect(await views("reader")).toMatchObject({ items: [{ view: "processes", documents: 5 }] });
    expect(await views("other")).toEqual({ items: [] });
  });
});
