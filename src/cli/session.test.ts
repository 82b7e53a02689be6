import { expect, it } from "vitest";
import { Session } from "./session.js";

it("a command closes all that it opened, the last first, and tells of what could not be closed", async () => {
  const session = new Session({}, new AbortController().signal);
  const closed: string[] = [];
  session.onEnd(async () => void closed.push("store"));
  session.onEnd(() => Promise.reject(new Error("the hub does not close")));
  session.onEnd(async () => void closed.push("client"));
  await expect(session.end()).rejects.toThrow("the hub does not close");
  expect(closed).toEqual(["client", "store"]);
});
