/** What is misspelt, or means nothing over the wire, must not count as not given. */
import { expect, it } from "vitest";
import { PromClient as BrowserClient } from "./browser.js";
import { PromClient } from "./index.js";

const URL = "http://localhost:1";
/** As plain JavaScript would say it. */
const misspelt: object = { tokn: "t" };

it.each([
  ["Node", PromClient],
  ["browsers", BrowserClient],
])("the client of %s refuses an option that it does not know", (_, Client) => {
  expect(() => new Client(URL, { token: "t", ...misspelt })).toThrow(
    expect.objectContaining({
      code: "INVALID_OPTION",
      message:
        'a client knows no option "tokn"; it takes token, getToken, maxBuffered, maxBufferedBytes, retry, pingMs, onTrouble, makeSocket',
    }),
  );
  expect(() => new Client(URL, { retry: { ...misspelt } })).toThrow('retry knows no option "tokn"');
  const listeners: object = { onTrouble: undefined };
  expect(new Client(URL, listeners).status).toBe("offline");
});

it.each<object>([misspelt, { filter: () => false }, { signal: new AbortController().signal }])(
  "subscribe refuses %s before anything is sent",
  async (options) => {
    const client = new PromClient(URL);
    await expect(client.subscribe("t.a", "g", () => undefined, options)).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(`subscribe knows no option "${Object.keys(options)[0]}"`),
    });
    expect(client.status).toBe("offline");
    await client.close();
  },
);
