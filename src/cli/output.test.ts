import { describe, expect, it } from "vitest";
import type { GroupLag } from "../bus/admin.js";
import { BusError } from "../model/errors.js";
import { GROUP_COLUMNS } from "./commands/groups.js";
import { exitCodeOf, failure, failureText, usageError } from "./exit.js";
import { factLines, tableLines } from "./output.js";
import { redacted } from "./store-choice.js";

describe("tables", () => {
  it("are as wide as their cells, whose control characters are harmless", () => {
    const rows = [
      { name: "a\x1b[31m", n: 1 },
      { name: "漢", n: undefined },
    ];
    const lines = tableLines(rows, [
      { title: "NAME", cell: ({ name }) => name },
      { title: "N", align: "right", cell: ({ n }) => n },
    ]);
    expect(lines).toEqual(["NAME    N", "a·[31m  1", "漢      –"]);
  });

  it("are no wider than the terminal, if they can be: the longest texts give way, numbers and ids do not", () => {
    const rows = [
      {
        id: "01a1ebe5-1fa7-741c-a424-024e2a4e49d9",
        topic: "t".repeat(200),
        n: 1_000_000,
        error: "e".repeat(40),
      },
    ];
    const columns = [
      { title: "LETTER", whole: true as const, cell: ({ id }: (typeof rows)[0]) => id },
      { title: "TOPIC", cell: ({ topic }: (typeof rows)[0]) => topic },
      { title: "N", align: "right" as const, cell: ({ n }: (typeof rows)[0]) => n },
      { title: "ERROR", cell: ({ error }: (typeof rows)[0]) => error },
    ];
    const [, narrow = ""] = tableLines(rows, columns, 80);
    expect(narrow).toHaveLength(80);
    expect(narrow).toMatch(/^01a1ebe5-1fa7-741c-a424-024e2a4e49d9 {2}t+… {2}1000000 {2}e+…$/);
    const [, least = ""] = tableLines(rows, columns, 20);
    expect(least).toMatch(/^01a1ebe5-1fa7-741c-a424-024e2a4e49d9 {2}t{19}… {2}1000000 {2}e{19}…$/);
    expect(tableLines(rows, columns, undefined)[1]).toContain("t".repeat(200));
  });

  it("leave out what can be spared, and no more than they must, before anything wraps", () => {
    const rows = [{ id: "0123456789abcdef", group: "mailer", key: "customer-42", error: "e".repeat(40) }];
    const columns = [
      { title: "LETTER", whole: true as const, cell: ({ id }: (typeof rows)[0]) => id },
      { title: "GROUP", spare: 1, cell: ({ group }: (typeof rows)[0]) => group },
      { title: "KEY", spare: 2, cell: ({ key }: (typeof rows)[0]) => key },
      { title: "ERROR", cell: ({ error }: (typeof rows)[0]) => error },
    ];
    const at = (room: number): string | undefined => tableLines(rows, columns, room)[1];
    expect(at(48)).toBe("0123456789abcdef  mailer  customer-…  eeeeeeeee…");
    expect(at(47)).toBe("0123456789abcdef  mailer  eeeeeeeeeeeeeeeeeeee…");
    expect(at(28)).toBe("0123456789abcdef  eeeeeeeee…");
  });

  it("of groups fit 40 columns, with what is asked for first", () => {
    const rows = [
      { group: "g".repeat(200), topic: "t".repeat(200), lag: 12_345, lagSeconds: 1_400, members: [] },
    ];
    const lines = tableLines(rows as unknown as GroupLag[], GROUP_COLUMNS, 40);
    expect(lines.map((line) => line.length)).toEqual([40, 40]);
    expect(lines[0]).toMatch(/^GROUP +TOPIC +LAG$/);
  });

  it("of groups say of those that may be behind why that is so, not for how long", () => {
    const behind = { topic: "t", lag: 1, lagSeconds: 7_200, members: [], partitions: [] };
    const rows: GroupLag[] = [
      { ...behind, group: "mailer" },
      { ...behind, group: "changelog:v", resting: true },
      { ...behind, group: "compactor:snapshot" },
      { ...behind, group: "compactor:snapshot", lag: 0 },
    ];
    const oldest = tableLines(rows, GROUP_COLUMNS).map((line) => line.split(/ {2,}/)[3]);
    expect(oldest).toEqual(["OLDEST", "2 h", "rests", "in rounds", "–"]);
  });

  it("of facts leave out what is not known", () => {
    expect(factLines({ a: 1, longer: "x", gone: undefined })).toBe("a       1\nlonger  x");
  });
});

describe("failures", () => {
  it.each([
    [failure("NOT_FOUND", "x"), 3],
    [new BusError("INVALID_TOPIC", "x"), 2],
    [failure("FORBIDDEN", "x"), 4],
    [new BusError("SCHEMA_VIOLATION", "x"), 5],
    [new BusError("STORE_UNAVAILABLE", "x"), 1],
    [new TypeError("x"), 1],
    [usageError("x"), 2],
  ])("have exit codes that mean something: %s", (error, code) => {
    expect(exitCodeOf(error)).toBe(code);
  });

  it("are told in a sentence with a way out, or as JSON, never with a stack", () => {
    const error = failure("NOT_FOUND", "it is gone", { hint: "look elsewhere", cause: new Error("inner") });
    expect(failureText(error, { json: false })).toBe("promethean: it is gone\n  look elsewhere");
    expect(JSON.parse(failureText(error, { json: true }))).toEqual({
      error: { code: "NOT_FOUND", message: "it is gone", hint: "look elsewhere" },
    });
  });

  it("do not tell passwords", () => {
    expect(redacted("mongodb://me:secret@db/x")).toBe("mongodb://me:***@db/x");
    expect(redacted("mongodb://me:s@c/r:e@t@db/x")).toBe("mongodb://me:***@db/x");
    expect(redacted("mongodb://db/x?proxyPassword=secret&a=1&tlsCertificateKeyFilePassword=secret")).toBe(
      "mongodb://db/x?proxyPassword=***&a=1&tlsCertificateKeyFilePassword=***",
    );
    expect(redacted("/var/lib/bus.db")).toBe("/var/lib/bus.db");
  });
});
