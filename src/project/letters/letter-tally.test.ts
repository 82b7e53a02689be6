import { expect, it } from "vitest";
import type { Letter } from "./dead-letters.js";
import { LetterTally } from "./letter-tally.js";

function letter(n: number): Letter {
  const origin = { topic: "orders", partition: 0, seq: n, id: `e${n}`, group: "mailer" };
  const error = { name: "Error", message: `odd ${n}`, stack: "" };
  const event = { id: origin.id, topic: "orders", partition: 0, seq: n, ts: n, payload: n };
  const place = { id: `l${n}`, ts: n, partition: 0, seq: n, key: `k${n % 5}`, status: "open" as const };
  return { ...place, origin, error, event, attempts: 1, errorClass: `odd ${n % 4}` } as unknown as Letter;
}

it("P13: tells so many names apart and no more, but counts every letter", () => {
  const tally = new LetterTally(3);
  for (let n = 0; n < 20; n++) tally.add(letter(n));
  expect(tally.summary()).toEqual({
    open: 20,
    redriven: 0,
    discarded: 0,
    byErrorClass: { "odd 0": 5, "odd 1": 5, "odd 2": 5 },
    errorExamples: { "odd 0": "odd 16", "odd 1": "odd 17", "odd 2": "odd 18" },
    byGroup: { mailer: 20 },
    byKey: { k0: 4, k1: 4, k2: 4 },
  });
});
