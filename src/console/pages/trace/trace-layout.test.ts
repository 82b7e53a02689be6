import { describe, expect, it } from "vitest";
import { placesOf } from "./trace-layout.js";

const event = (id: string, topic: string, ts: number) => ({
  id,
  topic,
  ts,
  partition: 0,
  seq: ts,
  payload: null,
});

describe("the places of a trace", () => {
  it("puts effects right of their causes, and each topic in a lane", () => {
    const { nodes, lanes } = placesOf({
      events: [
        event("c", "mails", 3),
        event("a", "orders", 1),
        event("b", "payments", 2),
        event("d", "mails", 4),
      ],
      edges: [
        { from: "a", to: "b" },
        { from: "b", to: "c" },
        { from: "a", to: "d" },
      ],
    });
    const x = Object.fromEntries(nodes.map((node) => [node.event.id, node.x]));
    const y = Object.fromEntries(nodes.map((node) => [node.event.id, node.y]));
    expect(lanes).toEqual(["orders", "payments", "mails"]);
    expect(x.a).toBeLessThan(x.b as number);
    expect(x.b).toBeLessThan(x.c as number);
    expect(x.c).toBeLessThan(x.d as number);
    expect(y.c).toBe(y.d);
    expect(nodes.map(({ sinceFirstMs }) => sinceFirstMs)).toEqual([0, 1, 2, 3]);
  });

  it("comes to an end even if events name each other as causes", () => {
    const { nodes } = placesOf({
      events: [event("a", "t", 1), event("b", "t", 2)],
      edges: [
        { from: "a", to: "b" },
        { from: "b", to: "a" },
      ],
    });
    expect(nodes).toHaveLength(2);
  });
});
