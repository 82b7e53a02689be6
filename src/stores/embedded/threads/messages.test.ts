import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AppendRequest, Reply, Request } from "../protocol.js";
import {
  PlaceNumbers,
  type Places,
  packReplies,
  packRequests,
  unpackReplies,
  unpackRequests,
} from "./messages.js";

const buffers = Array.from({ length: 3 }, (_, n) => new Uint8Array([n, n, n]).buffer);

const append: fc.Arbitrary<Pick<Request, "name" | "argument">> = fc
  .record({
    topic: fc.constantFrom("a", "b", "c.d"),
    partition: fc.nat(70),
    buffer: fc.constantFrom(...buffers),
    batches: fc.integer({ min: 1, max: 3 }),
    check: fc.constantFrom<AppendRequest["check"]>("none", "none", "none", "all", [0, 2]),
    isFenced: fc.nat(9).map((n) => n === 0),
    ts: fc.double({ noNaN: true }),
  })
  .map(({ topic, partition, buffer, batches, check, isFenced, ts }) => {
    const layout = Array.from({ length: batches }, (_, n) => [n + 1, n, n + 16, n + 17, n + 300, ts]).flat();
    const fence = isFenced ? { ref: { topic, group: "g", partition }, epoch: 3 } : undefined;
    return { name: "append", argument: { topic, partition, buffer, layout, check, fence } };
  });

const other: fc.Arbitrary<Pick<Request, "name" | "argument">> = fc
  .string()
  .map((member) => ({ name: "beat", argument: { member, nowMs: 1, ttlMs: 2 } }));

/** Several messages, each of which may fail to be sent. */
const messages = fc.array(
  fc.record({ asked: fc.array(fc.oneof({ weight: 4, arbitrary: append }, other)), isLost: fc.nat(5) }),
);

const answer: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.nat().map((firstSeq) => ({ firstSeq })) },
  fc.constant({ firstSeq: 7, duplicates: [{ index: 0, sameAs: 1 }] }),
  fc.constantFrom(true, null, 4, undefined, [], { epoch: 1 }),
);

describe("messages between the threads", () => {
  it("requests arrive as they were asked, in their order, also after a message that could not be sent", () => {
    fc.assert(
      fc.property(messages, (sent) => {
        const numbers = new PlaceNumbers();
        const places: Places = new Map();
        let number = 0;
        for (const { asked, isLost } of sent) {
          const requests = asked.map((one) => ({ number: ++number, ...one }));
          const message = structuredClone(packRequests(requests, numbers));
          if (isLost === 0) numbers.forget();
          else expect(unpackRequests(message, places)).toEqual(requests);
        }
      }),
    );
  });

  it("each request gets its own answer or error; an append without duplicates, its first seq", () => {
    const error = { code: "INTERNAL", message: "no", retryable: false, details: undefined };
    const outcomes = fc.array(fc.record({ answer, isFailed: fc.nat(4), gap: fc.nat(3) }));
    fc.assert(
      fc.property(outcomes, (given) => {
        let number = 0;
        const replies: Reply[] = given.map((one) => {
          number += one.gap === 0 ? 2 : 1;
          return one.isFailed === 0 ? { number, error: error as never } : { number, answer: one.answer };
        });
        const heard: unknown[] = [];
        unpackReplies(structuredClone(packReplies(replies)), {
          answered: (to, what) => heard.push([to, what]),
          failed: (to, why) => heard.push([to, why]),
        });
        expect(heard).toEqual(
          replies.map((reply) => [reply.number, "error" in reply ? reply.error : plain(reply.answer)]),
        );
      }),
    );
  });
});

function plain(answer: unknown): unknown {
  const { firstSeq, duplicates } = (answer ?? {}) as { firstSeq?: number; duplicates?: unknown };
  return firstSeq !== undefined && duplicates === undefined ? firstSeq : answer;
}
