import { expect, it } from "vitest";
import { createBus } from "../../bus/create-bus.js";
import { Fatal } from "../../model/errors.js";
import { memoryStore } from "../../stores/memory/index.js";
import { summarizeDeadLetters } from "./dead-letters.js";
import { errorClass } from "./error-class.js";

const classOf = (message: string): string => errorClass({ message, code: "HANDLER_FAILED" });

it.each([
  ["cannot reach host-17.example.org", "cannot reach host-4.example.org"],
  ["order ORD-77AB is closed", "order ORD-8C1 is closed", "order ORD-1 is closed"],
  ["no user 3f2b9c1e-0d4a-4b6f-9abc-deadbeefcafe", "no user ABCDEFAB-CDEF-4BCD-AFEE-FACEFACEFACE"],
  ["no user 01a1f157-dc21-73e1-8980-0007b8e33342", "no user V1StGXR8_Z5jdHi6B-myT"],
  ["no document 65f1c0ffee65f1c0ffee65f1", "no document 507f191e810c19729de860ea"],
  ['key "a \\"b\\" c" is taken', 'key "d" is taken', 'key "" is taken'],
  ["can't read 'a.txt'", "can't read 'it's here.txt'"],
  ["no such key `a`", "no such key `b c`"],
  ["unknown name “anna”", "unknown name “bob”"],
  ["late by 1.5 s", "late by 2 s", "late by -3 s", "late by 1,250.75 s", "late by 1e-5 s"],
  ["expired at 2024-05-01T12:00:00.000Z", "expired at 2025-11-30T01:02:03Z"],
  ["connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED 10.0.0.12:80"],
  ["anna@example.org bounced", "bob.m@mail.example.com bounced"],
  ["E11000 duplicate key { id: 7 }", "E11000 duplicate key { id: 8 }"],
])("%s is of one class with those that differ in numbers, ids or values", (first, ...others) => {
  for (const other of others) expect(classOf(other)).toBe(classOf(first));
});

it.each([
  ["no such customer", "no such order"],
  ["can't read it, won't try", "can't write it, won't try"],
  ["no order customer-13", "no order shop-13"],
  ["GET /orders/7 failed", "GET /customers/7 failed"],
])("%s and %s are two", (one, other) => expect(classOf(one)).not.toBe(classOf(other)));

it("errors with another code are of another class", () => {
  expect(errorClass({ message: "gone", code: "A" })).not.toBe(errorClass({ message: "gone", code: "B" }));
  expect(errorClass({ message: "gone", name: "TypeError" })).toBe("TypeError: gone");
  expect(errorClass({ message: "gone" })).toBe("Error: gone");
});

it("a class is short however long and odd the message", () => {
  for (const odd of ["'", '"', "a1-", "'a", "@", "\\", "#-"])
    expect(classOf(odd.repeat(100_000)).length).toBeLessThan(200);
});

it("of letters that failed alike, the summary counts one class and shows the last message", async () => {
  const bus = await createBus({ store: memoryStore(), onTrouble: () => undefined });
  try {
    const refuse = ({ payload }: { payload: unknown }): never => {
      throw new Fatal(`no order ORD-${payload}`);
    };
    await bus.subscribe("orders", "mailer", refuse, { from: "earliest" });
    for (const name of ["7A", "8C1", "9"]) {
      await bus.publish("orders", name, { key: "k" });
      await expect.poll(async () => (await bus.admin.lag({ topic: "orders" }))[0]?.lag).toBe(0);
    }
    const name = "HANDLER_FAILED: no order ORD-#";
    expect(await summarizeDeadLetters(bus, "orders")).toMatchObject({
      byErrorClass: { [name]: 3 },
      errorExamples: { [name]: "no order ORD-9" },
    });
  } finally {
    await bus.close();
  }
});
