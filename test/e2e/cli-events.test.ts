/** Events through the command line: published, handed to programs, followed, carried out and in. */
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run, start } from "../support/cli.js";
import { sceneOfFile } from "../support/cli-scene.js";
import { eventually } from "../support/eventually.js";

const { scene, cli, json, sh } = sceneOfFile();

describe("promethean publish, subscribe, dlq", () => {
  it("P3: publishes the same id once", async () => {
    const args = ["publish", "cli.once", '{"n":1}', "--id", "one"];
    expect(await json(...args)).toMatchObject({ seq: 1 });
    expect(await json(...args)).toMatchObject({ seq: 1, duplicate: true });
  });

  it("publishes the lines of stdin, and names the one that is wrong", async () => {
    const good = await run(["publish", "cli.lines", "-", "--key", "k"], {
      env: scene().env,
      input: '{"n":1}\n\n"two"\n',
    });
    expect(good).toMatchObject({ code: 0, out: "2 events published to cli.lines\n" });
    const bad = await run(["publish", "cli.lines", "-"], { env: scene().env, input: "3\n4\n{oops\n5\n" });
    expect(bad).toMatchObject({
      code: 5,
      out: "",
      err: "promethean: line 3 is not JSON; 2 events published to cli.lines before it\n",
    });
    expect(await json("topics", "cli.lines")).toMatchObject({ events: 4 });
  });

  it("finds the events of any key, also of one that no path of an address holds", async () => {
    for (const key of ["..", ".", "a/b"]) {
      await cli("publish", "cli.keys", JSON.stringify(key), "--key", key);
      expect(await json("history", "cli.keys", key)).toMatchObject({ key, payload: key });
      const none = await cli("view", "get", "totals", key);
      expect(none).toMatchObject({ code: 3, err: `promethean: totals has no ${key}\n` });
    }
  });

  it("P8: a program that fails again and again leaves a dead letter, which is shown, redriven and settled", async () => {
    await cli("publish", "cli.work", '{"n":13}', "--key", "k");
    const failing = start(
      [
        "subscribe",
        "cli.work",
        "--group",
        "g",
        "--from",
        "earliest",
        "--max-attempts",
        "1",
        "--exec",
        "echo broken >&2; exit 7",
      ],
      { env: scene().env },
    );
    await eventually(
      async () => ((await json("dlq", "ls", "cli.work").catch(() => [])) as unknown[]).length === 1,
      "a dead letter",
    );
    failing.child.kill("SIGINT");
    expect((await failing.ended).code).toBe(130);
    const [letter] = (await json("dlq", "ls", "cli.work")) as { id: string; error: { message: string } }[];
    expect(letter?.error.message).toBe("broken (exit code 7)");
    const shown = await cli("dlq", "show", "cli.work", letter?.id ?? "");
    expect(shown.out).toContain('"n": 13');
    expect((await cli("dlq", "redrive", "cli.work", "--yes")).out).toBe("1 letter redriven to cli.work.\n");
    const again = await cli("subscribe", "cli.work", "--group", "g", "--limit", "1", "--exec", "cat");
    expect(again.code).toBe(0);
    expect(JSON.parse(again.out)).toMatchObject({ payload: { n: 13 }, headers: { "x-redrive-group": "g" } });
    expect(await json("dlq", "ls", "cli.work")).toEqual([]);
  });

  it("tells a program about its event", async () => {
    await cli("publish", "cli.env", "1", "--key", "k1");
    const { out } = await cli(
      "subscribe",
      "cli.env",
      "-g",
      "g",
      "--from",
      "earliest",
      "-n",
      "1",
      "-x",
      'echo "$PROMETHEAN_EVENT_TOPIC $PROMETHEAN_EVENT_KEY $PROMETHEAN_EVENT_ATTEMPT"',
    );
    expect(out).toBe("cli.env k1 1\n");
  });
});

describe("promethean tail", () => {
  it("goes on after a hub that was away, and ends when its token is no longer good", async () => {
    const answers = ["a place", 503, 200, 503, 200, 401];
    const asked: unknown[] = [];
    const hub = createServer((request, response) => {
      asked.push(request.headers["last-event-id"]);
      const status = answers.shift() ?? 500;
      if (typeof status === "string") response.end(": t\nid: p\n\n");
      else if (status === 200)
        response.end(`id: c\ndata: {"topic":"t","partition":0,"seq":1,"ts":1,"payload":1}\n\n`);
      else {
        const code = status === 401 ? "UNAUTHENTICATED" : "CLOSED";
        response.writeHead(status).end(JSON.stringify({ code, detail: "no" }));
      }
    });
    await new Promise<void>((listening) => hub.listen(0, "127.0.0.1", listening));
    const { port } = hub.address() as AddressInfo;
    const ended = await cli("tail", "t", "--json", "--url", `http://127.0.0.1:${port}`);
    expect(ended.code).toBe(4);
    expect(ended.out.trim().split("\n")).toHaveLength(2);
    expect(JSON.parse(ended.err)).toMatchObject({ error: { code: "UNAUTHENTICATED" } });
    expect(asked).toEqual([undefined, "p", "p", "c", "c", "c"]);
    hub.close();
  });
});

describe("promethean export and import", () => {
  it("P14: an export that was broken off is a failure", async () => {
    const hub = createServer((request, response) => {
      if (request.url?.startsWith("/topics")) response.end('{"events":2}');
      else response.write('{"seq":1}\n', () => response.destroy());
    });
    await new Promise<void>((listening) => hub.listen(0, "127.0.0.1", listening));
    const { port } = hub.address() as AddressInfo;
    const ended = await cli("export", "t", "--url", `http://127.0.0.1:${port}`);
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining("broke off") as string });
    hub.close();
  });

  it("carry a topic through a pipe, from a hub into a file and back", async () => {
    const there = await sh("promethean export orders.placed | promethean import --store copy.db --json");
    // A store is not made by an import with a wrong path.
    expect(there.code).toBe(3);
    expect(existsSync(join(scene().folder, "copy.db"))).toBe(false);
    const into = await sh(
      "promethean export orders.placed | promethean import orders.copy --store bus.db --json",
    );
    expect(JSON.parse(into.out)).toMatchObject({ lines: 4, imported: 4, duplicates: 0, complete: true });
    const again = await sh(
      "promethean export orders.placed | promethean import orders.copy --store bus.db --json",
    );
    expect(JSON.parse(again.out)).toMatchObject({ imported: 0, duplicates: 4 });
  });

  it("P3: copy within one store under new ids, which stay the same", async () => {
    const refused = await sh("promethean export orders.placed | promethean import orders.copied");
    expect(refused.code).toBe(5);
    expect(refused.err).toContain("--new-ids");
    const copy = "promethean export orders.placed | promethean import orders.copied --new-ids --json";
    expect(JSON.parse((await sh(copy)).out)).toMatchObject({ imported: 4, duplicates: 0 });
    expect(JSON.parse((await sh(copy)).out)).toMatchObject({ imported: 0, duplicates: 4 });
  });

  it("end quietly when the reader has had enough", async () => {
    const { code, out, err } = await sh("set +o pipefail; promethean export orders.placed | head -n 1");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.trim().split("\n")).toHaveLength(1);
    const closed = await sh("promethean topics | true; echo $PIPESTATUS");
    expect(closed).toMatchObject({ out: "0\n", err: "" });
  });
});
