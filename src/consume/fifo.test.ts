import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fifo } from "./fifo.js";

describe("Fifo", () => {
  it("does what a plain list does, through growing, going round and emptying", () => {
    const steps = fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: -40, max: -1 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(steps, (moves) => {
        const fifo = new Fifo<number>();
        const list: number[] = [];
        let next = 0;
        for (const move of moves) {
          for (let i = 0; i < move; i++) {
            fifo.push(next);
            list.push(next++);
          }
          for (let i = 0; i > move; i--) expect(fifo.shift()).toBe(list.shift());
          expect([fifo.length, fifo.peek(), [...fifo]]).toEqual([list.length, list[0], list]);
          const visited: number[] = [];
          fifo.forEach((item) => void visited.push(item));
          expect(visited).toEqual(list);
        }
        fifo.clear();
        expect([fifo.length, fifo.peek(), fifo.shift()]).toEqual([0, undefined, undefined]);
      }),
    );
  });

  it("takes in many thousands and is as good as new afterwards", () => {
    const fifo = new Fifo<number>();
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 20_000; i++) fifo.push(i);
      for (let i = 0; i < 20_000; i++) expect(fifo.shift()).toBe(i);
      expect(fifo.length).toBe(0);
    }
  });
});
