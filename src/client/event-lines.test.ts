import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventLines } from "./event-lines.js";

function told(...pieces: readonly string[]): string[] {
  const all: string[] = [];
  const lines = new EventLines({
    onEvent: (data) => all.push(`event ${data}`),
    onPlace: (id) => all.push(`place ${id}`),
  });
  for (const piece of pieces) lines.take(piece);
  return all;
}

const TEXT = ': orders\nid: p0\n\nid: p1\ndata: {"id: ":1}\n\nevent: stats\ndata: {"n":2}\n\n:\nid: p2\n\n';
const ALL = ["place p0", 'event {"id: ":1}', "place p1", 'event {"n":2}', "place p2"];

describe("a stream of events", () => {
  it("tells of places that come without an event, so that a break before the first one loses nothing", () => {
    expect(told(TEXT)).toEqual(ALL);
  });

  it("is the same wherever it is cut", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(TEXT.length), { maxLength: 12 }), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), TEXT.length];
        expect(told(...places.map((at, i) => TEXT.slice(at, places[i + 1])))).toEqual(ALL);
      }),
    );
  });

  it("tells of no event before it is whole", () => {
    expect(told("id: p1\ndata: 1\n")).toEqual([]);
  });
});
