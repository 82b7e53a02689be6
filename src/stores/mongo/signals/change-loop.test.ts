import { MongoServerError } from "mongodb";
import { describe, expect, it } from "vitest";
import { ChangeLoop } from "./change-loop.js";

/** Why a stream that the server refuses to open like this is given up. */
function givenUp(refusal: { readonly code: number; readonly message: string }): Promise<string> {
  return new Promise((resolve) => {
    new ChangeLoop({
      open: () => {
        throw new MongoServerError(refusal);
      },
      onChange: () => undefined,
      onGap: () => undefined,
      onUnavailable: resolve,
    });
  });
}

describe("a change stream that may not be opened", () => {
  it.each([
    [13, "not authorized on shop to execute command { aggregate: 1, pipeline: [ { $changeStream: {} } ] }"],
    // As MongoDB Atlas words it.
    [8000, "user is not allowed to do action [changeStream] on [shop.]"],
  ])("is given up, and the right that is missing is named: %s", async (code, message) => {
    expect(await givenUp({ code, message })).toContain("changeStream on shop");
  });
});
