/** When a writer that lost a race tries again, and what it begins with. */
import { describe, expect, it } from "vitest";
import { EMPTY_TAIL, type Tail } from "./event-document.js";
import { awaitTurn, Turns } from "./turns.js";

function tail(seq: number, midway = false): Tail {
  return { ...EMPTY_TAIL, seq, id: `e${seq}`, midway };
}

/** Gives these one after the other, and the last one for ever. */
function reading(...tails: readonly Tail[]): () => Promise<Tail> {
  let next = 0;
  return async () => tails[Math.min(next++, tails.length - 1)] as Tail;
}

describe("waiting for one's turn", () => {
  it("waits until what was in the way is there, and the append that brought it is over", async () => {
    const seen = reading(tail(3), tail(5, true), tail(7, true), tail(9));
    expect(await awaitTurn(5, 4, seen)).toEqual(tail(9));
  });

  it("does not wait for a writer that went silent in the middle", async () => {
    expect(await awaitTurn(5, 4, reading(tail(5, true)))).toEqual(tail(5, true));
  });

  it("does not wait for an event that a new primary no longer has", async () => {
    expect(await awaitTurn(5, 4, reading(tail(3)))).toEqual(tail(3));
  });
});

describe("claims", () => {
  it("are made for large appends where a race was lost, and nowhere else", () => {
    const turns = new Turns();
    expect(turns.needsClaim("t/0", 1_000)).toBe(false);
    turns.lost("t/0");
    expect(turns.needsClaim("t/0", 1_000)).toBe(true);
    expect(turns.needsClaim("t/0", 1)).toBe(false);
    expect(turns.needsClaim("t/1", 1_000)).toBe(false);
  });
});
