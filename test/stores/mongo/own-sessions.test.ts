/** A member that dies within a transaction, and how the next one takes over: own-sessions.ts. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { upsert } from "../../../src/testing/conformance/document-writes.js";
import { claimed, started } from "../../../src/testing/conformance/group-leases.js";
import { cursorAt, openMember } from "../../../src/testing/conformance/samples.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { deadMember, TAKING_OVER_MS, takesOver } from "../../support/mongo/taking-over.js";

let database: TestDatabase;
let failPoint: FailPoint;
beforeEach(async () => {
  database = await TestDatabase.create();
  failPoint = new FailPoint(() => database.client);
});
afterEach(async () => {
  await failPoint.release();
  await database.dispose();
});

async function sessionsOf(member: string): Promise<unknown[]> {
  const document = await database.db.collection<{ _id: string }>("members").findOne({ _id: member });
  return (document as { sessions?: unknown[] } | null)?.sessions ?? [];
}

describe("the sessions of a member's transactions", () => {
  it("are named in its document before they are used, and used again", async () => {
    const store = await database.open();
    const ref = await started(store);
    const member = await openMember(store);
    const { epoch } = await claimed(store, ref, member);
    let named: unknown[] = [];
    await store.documents.transact({
      writes: [],
      cursor: { ref, epoch, cursor: cursorAt(1) },
      within: async () => {
        named = await sessionsOf(member);
        return [];
      },
    });
    expect(named).toHaveLength(1);
    for (let floor = 2; floor < 6; floor++)
      await store.documents.transact({ writes: [], cursor: { ref, epoch, cursor: cursorAt(floor) } });
    expect(await sessionsOf(member)).toEqual(named);
  });

  it("those that were there before the member are not used for it", async () => {
    const store = await database.open();
    await store.documents.transact({ writes: [{ view: "v", writes: [upsert("a", {})] }] });
    const member = await openMember(store);
    await store.documents.transact({ writes: [{ view: "v", writes: [upsert("b", {})] }] });
    expect(await sessionsOf(member)).toHaveLength(1);
  });

  it("are named in the document of a member that was swept away while it slept, and begins again", async () => {
    const store = await database.open();
    const member = await openMember(store);
    const write = () => store.documents.transact({ writes: [{ view: "v", writes: [upsert("a", {})] }] });
    await write();
    await database.db.collection<{ _id: string }>("members").deleteOne({ _id: member });
    const session = { member, host: "h", pid: 1, processStart: "" };
    await store.groups.open(session, { ttlMs: 60_000, nowMs: Date.now() });
    await write();
    expect(await sessionsOf(member)).toHaveLength(1);
  });

  it(
    "P7, P9: are ended when another takes over, who need not wait for the server to undo what was left open",
    async () => takesOver(await database.open(), await database.open()),
    TAKING_OVER_MS,
  );

  it("a server that refuses is spoken of once, and the partitions are taken over all the same", async () => {
    const warnings: string[] = [];
    const store = await database.open();
    const second = await database.open({
      url: database.urlWith(`appName=${database.name}`),
      onWarning: (message) => warnings.push(message),
    });
    const ref = await started(store, 2);
    const other = { ...ref, partition: 1 };
    const dead = await deadMember(store);
    const { epoch } = await claimed(store, ref, dead);
    await claimed(store, other, dead);
    await store.documents.transact({ writes: [], cursor: { ref, epoch, cursor: cursorAt(1) } });
    await failPoint.set(2, { failCommands: ["killSessions"], errorCode: 13, appName: database.name });
    const member = await openMember(second);
    expect((await claimed(second, ref, member)).cursor).toEqual(cursorAt(1));
    await claimed(second, other, member);
    expect(warnings).toEqual([expect.stringContaining("a minute or more")]);
  });
});
