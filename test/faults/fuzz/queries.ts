/** Places in a log and filters of views, as they stand in a URL. */

import { parsePosition } from "../../../src/hub/http/positions.js";
import { orderOf, whereOf } from "../../../src/hub/http/view-query.js";
import type { DocumentQuery } from "../../../src/ports/documents.js";
import { floorsAt } from "../../../src/project/topic-position.js";
import type { Kind } from "./fuzz.js";

const PLACES = [
  "earliest",
  "latest",
  "id:x",
  "id:",
  "seq:1",
  "seq:99",
  "2026-11-15",
  "1700000000000",
  "seq:-1",
];

export const cursors: Kind = {
  name: "cursors",
  codes: ["BAD_REQUEST", "NOT_FOUND", "INVALID_OPTION"],
  make: (noise) =>
    noise.chance(0.5)
      ? noise.torn(noise.pick(PLACES))
      : noise.chance(0.5)
        ? noise.pick(PLACES)
        : noise.text(),
  run: async (input, { bus }) => {
    const floors = await floorsAt(bus.store.log, "a", parsePosition(input as string));
    if (!floors.every((floor) => Number.isSafeInteger(floor) && floor >= 0))
      throw new Error(`${JSON.stringify(input)} became ${JSON.stringify(floors)}`);
  },
};

const OPERATORS = ["eq", "ne", "in", "gt", "gte", "lt", "lte", "prefix", "exists", "like", "$gt", ""];

export const filters: Kind = {
  name: "filters",
  codes: ["BAD_REQUEST", "INVALID_OPTION"],
  make: (noise) => {
    const field = (): string => (noise.chance(0.5) ? noise.pick(["n", "text", "a.b", "_key"]) : noise.text());
    const filter = (): [string, string] => [
      `where.${field()}${noise.chance(0.6) ? `[${noise.pick(OPERATORS)}]` : ""}`,
      noise.chance(0.5) ? noise.pick(["1", "true", "null", '"x"', "x,y", "-1e9", "{}"]) : noise.text(),
    ];
    return {
      query: Object.fromEntries(noise.many(3, filter)),
      order: noise.chance(0.5) ? `${noise.pick(["", "-"])}${field()}` : undefined,
      after: noise.chance(0.3) ? noise.text() : undefined,
    };
  },
  run: async (input, { bus, view }) => {
    const { query, order, after } = input as {
      query: Record<string, string>;
      order?: string;
      after?: string;
    };
    const asked: DocumentQuery = {
      where: whereOf(query),
      limit: 10,
      ...(order !== undefined && { order: orderOf(order) }),
      ...(after !== undefined && { after }),
    };
    const { documents } = await bus.store.documents.find(view, asked);
    if (documents.length > 10) throw new Error("more than was asked for");
  },
};
