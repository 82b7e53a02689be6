/** What the command line reads, and a hub that changes under it. */
import { describe, expect, it } from "vitest";
import { createBus } from "../../src/bus/create-bus.js";
import { type Hub, startHub } from "../../src/hub/server.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { type Ended, start } from "../support/cli.js";
import { sceneOfFile } from "../support/cli-scene.js";

const { scene, cli } = sceneOfFile();

/** A command with these bytes on its stdin. */
function feed(bytes: Buffer | string, ...args: string[]): Promise<Ended> {
  const running = start(args, { env: scene().env, cwd: scene().folder, open: true });
  running.child.stdin.end(bytes);
  return running.ended;
}

const payloads = async (topic: string): Promise<unknown[]> =>
  (await cli("export", topic)).out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { payload: unknown }).payload);

describe("lines that a command reads", () => {
  it("end where a line ends, and not at what JSON takes for a letter", async () => {
    const text = "one\u2028two\u2029three\u0085four";
    expect(
      await feed(`${JSON.stringify(text)}\r\n\n${JSON.stringify(text)}`, "publish", "in.letters", "-"),
    ).toMatchObject({ code: 0, out: "2 events published to in.letters\n" });
    expect(await payloads("in.letters")).toEqual([text, text]);
    const { out } = await cli("export", "in.letters");
    expect(await feed(out, "import", "in.copies", "--new-ids")).toMatchObject({ code: 0 });
    expect(await payloads("in.copies")).toEqual([text, text]);
  });

  it("are refused where they are not UTF-8, and not made into something else", async () => {
    const bad = Buffer.concat([
      Buffer.from('"fine"\n"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"\n"later"\n'),
    ]);
    const published = await feed(bad, "publish", "in.bytes", "-");
    expect(published).toMatchObject({ code: 5, out: "" });
    expect(published.err).toContain("line 2: it is not UTF-8; 1 event published to in.bytes before it");
    expect(await payloads("in.bytes")).toEqual(["fine"]);
    const line = Buffer.concat([
      Buffer.from('{"id":"1","payload":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n'),
    ]);
    const imported = await feed(line, "import", "in.more", "--new-ids");
    expect(imported).toMatchObject({ code: 5, out: "" });
    expect(imported.err).toContain("line 1: it is not UTF-8");
  });
});

describe("a command that goes on", () => {
  it("ends with what the hub says when it comes back and refuses the token", async () => {
    const bus = await createBus({ store: memoryStore() });
    const open = (token: string, port: number): Promise<Hub> =>
      startHub({ bus, port, auth: { tokens: { [token]: { scopes: ["*:*"] } } } });
    const first = await open("a", 0);
    const { url, port } = first;
    const running = start(["subscribe", "orders", "--group", "g", "--url", url, "--token", "a"]);
    await expect.poll(async () => (await bus.admin.lag())[0]?.members.length).toBe(1);
    await first.close();
    const second = await open("b", port);
    const { code, err } = await running.ended;
    await second.close();
    await bus.close();
    expect({ code, err }).toMatchObject({ code: 4, err: expect.stringContaining("refused the token") });
  });
});
