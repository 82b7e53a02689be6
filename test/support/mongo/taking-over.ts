/** A member that stands still within a transaction beyond its lease, and another that takes its partition over meanwhile. */
import { expect } from "vitest";
import type { Store } from "../../../src/ports/store.js";
import { upsert } from "../../../src/testing/conformance/document-writes.js";
import { claimed, leaseOf, started } from "../../../src/testing/conformance/group-leases.js";
import { cursorAt, failsWith, openMember } from "../../../src/testing/conformance/samples.js";
import { gate } from "../eventually.js";

/** The server ends a transaction by itself after 60 s at the earliest: whoever waits for that is too late. */
export const TAKING_OVER_MS = 40_000;

/** Its session on the group's members has run out. */
export const deadMember = (store: Store): Promise<string> => openMember(store, 0);

/** What the first leaves open, the second has to get past; what the first wrote is not there in the end (P7, P9). */
export async function takesOver(first: Store, second: Store): Promise<void> {
  const ref = await started(first);
  const { epoch } = await claimed(first, ref, await deadMember(first));
  await first.documents.define("v", []);
  const [inTheMiddle, awake] = [gate(), gate()];
  const frozen = first.documents.transact({
    writes: [{ view: "v", writes: [upsert("a", { by: "the first" })] }],
    cursor: { ref, epoch, cursor: cursorAt(9) },
    within: async () => {
      inTheMiddle.open();
      await awake.passed;
      return [];
    },
  });
  await inTheMiddle.passed;
  const claim = await claimed(second, ref, await openMember(second));
  expect(claim).toMatchObject({ epoch: epoch + 1, clean: false, cursor: cursorAt(0) });
  await second.documents.transact({
    writes: [{ view: "v", writes: [upsert("b", { by: "the second" })] }],
    cursor: { ref, epoch: claim.epoch, cursor: cursorAt(4) },
  });
  awake.open();
  await failsWith("LEASE_LOST", frozen);
  expect((await leaseOf(second, ref))?.cursor).toEqual(cursorAt(4));
  expect([...(await second.documents.get("v", ["a", "b"])).keys()]).toEqual(["b"]);
}
