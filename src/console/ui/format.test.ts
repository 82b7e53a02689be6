import { describe, expect, it } from "vitest";
import {
  ago,
  bytes,
  duration,
  lagText,
  milliseconds,
  moment,
  newest,
  oneLine,
  rate,
  shellArguments,
  shellWord,
  shortDuration,
  shortId,
  si,
  visible,
  zone,
} from "./format.js";

describe("numbers and times for people", () => {
  it("shortens counts and rates to one decimal", () => {
    expect([0, 7, 99.94, 999, 1_234, 12_440, 100_000, 3_100_000, 2.5e9].map(si)).toEqual([
      "0",
      "7",
      "99.9",
      "999",
      "1,234",
      "12.4k",
      "100k",
      "3.1M",
      "2.5G",
    ]);
    expect([0.01, 0.4, 12_440].map(rate)).toEqual(["0/s", "0.4/s", "12.4k/s"]);
  });

  it("gives bytes in binary units", () => {
    expect([0, 1_023, 1_536, 10_485_760, 1e12].map(bytes)).toEqual([
      "0 B",
      "1023 B",
      "1.5 KiB",
      "10.0 MiB",
      "931 GiB",
    ]);
  });

  it("says durations in one unit where there is little room", () => {
    expect([41, 120, 11_520, 86_399, 90_000, 864_000].map(shortDuration)).toEqual([
      "41 s",
      "2 min",
      "3 h",
      "23 h",
      "1 d",
      "10 d",
    ]);
  });

  it("says durations and ages in the largest fitting units", () => {
    expect([0, 0.0123, 1.25, 41, 120, 11_520, 90_000, 864_000].map(duration)).toEqual([
      "0 s",
      "12 ms",
      "1.3 s",
      "41 s",
      "2 min",
      "3 h 12 min",
      "1 d 1 h",
      "10 d",
    ]);
    expect([ago(1_000, 1_500), ago(0, 8_000), ago(13_000, 1_000)]).toEqual(["now", "8 s ago", "in 12 s"]);
    expect(moment(new Date(2024, 4, 1, 12, 0, 3, 120).getTime())).toBe("2024-05-01 12:00:03.120");
  });

  it("tells the zone that times are told in", () => {
    const noon = new Date(2024, 4, 1, 12).getTime();
    const east = new Date(noon).getTimezoneOffset() / -60;
    expect(zone(noon)).toMatch(/^[+-]\d\d:\d\d$/);
    expect(Date.parse(`2024-05-01T12:00:00${zone(noon)}`)).toBe(noon);
    expect(zone(noon).startsWith(east < 0 ? "-" : "+")).toBe(true);
    expect(zone(Number.NaN)).toBe("");
  });

  it("says how far behind a group is", () => {
    expect(lagText({ lag: 3_210, lagSeconds: 41, drainSeconds: 118 })).toBe(
      "3,210 · 41\u00a0s\u00a0behind · drains in ~2 min",
    );
    expect(lagText({ lag: 0, lagSeconds: 0 })).toBe("up to date");
    expect(lagText({ lag: 1, lagSeconds: 5, drainSeconds: null })).toBe("1 · 5\u00a0s\u00a0behind");
  });

  it("says how many there are, and that there may be more", () => {
    expect([newest(1, 50, "event"), newest(49, 50, "event"), newest(50, 50, "event")]).toEqual([
      "1 event",
      "49 events",
      "50 newest events",
    ]);
    expect([0, 0.25, 9.99, 12.4, 1_500].map(milliseconds)).toEqual([
      "0 ms",
      "0.3 ms",
      "10.0 ms",
      "12 ms",
      "1.5 s",
    ]);
  });

  it("writes out what cannot be seen, so that no key looks like another", () => {
    expect(visible("\u202ereverse\u2066\u200b")).toBe("\\u202ereverse\\u2066\\u200b");
    expect(visible("  spaces around ")).toBe("␣␣spaces around␣");
    expect(visible("line\nbreak\ttab\u0000")).toBe("line\\nbreak\\ttab\\u0000");
    expect(visible("طلب-漢字-🔥-👩‍🚀")).toBe("طلب-漢字-🔥-👩‍🚀");
    expect(oneLine("a\u202eb")).toBe("a\\u202eb");
    expect(oneLine("")).toBe('""');
  });

  it("cuts ids and payloads, and quotes what a shell would take apart", () => {
    expect(shortId("0190f3c2-7c6e-7000-8000-1234567890ab")).toBe("0190f3c2…90ab");
    expect(oneLine({ a: "x".repeat(10) }, 8)).toBe('{"a":"xx…');
    expect([shellWord("orders.placed"), shellWord("it's $HOME")]).toEqual([
      "orders.placed",
      `'it'\\''s $HOME'`,
    ]);
  });

  it("keeps a key that begins with a dash from being an option", () => {
    expect(shellArguments("orders", "it's")).toBe(`orders 'it'\\''s'`);
    expect(shellArguments("orders", "-7")).toBe("-- orders -7");
  });
});
