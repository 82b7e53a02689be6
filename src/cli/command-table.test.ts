import { expect, it } from "vitest";
import { COMMANDS, HEADINGS } from "./command-table.js";

it("every command stands under one heading of the help", () => {
  const listed = Object.values(HEADINGS).flat();
  expect(listed.toSorted()).toEqual(Object.keys(COMMANDS).toSorted());
});
