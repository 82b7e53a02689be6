/** The command line as programs and people use it: data on stdout, words on stderr, exit codes that mean something. */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { run, shell, start } from "../support/cli.js";
import { SECRET, sceneOfFile } from "../support/cli-scene.js";
import { eventually } from "../support/eventually.js";
import { newDatabaseAddress } from "../support/mongo/address.js";

const { scene, cli } = sceneOfFile();
const json = async (...args: string[]): Promise<unknown> => {
  const { code, out, err } = await cli(...args, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out) as unknown;
};
const sh = (line: string) => shell(line, { env: scene().env, cwd: scene().folder, bin: scene().bin }).ended;

describe("promethean --json", () => {
  it("gives every listing as one document", async () => {
    expect(await json("topics")).toContainEqual(
      expect.objectContaining({ name: "orders.placed", partitions: 1 }),
    );
    expect(await json("topics", "orders.placed")).toMatchObject({
      name: "orders.placed",
      partitions: [{ partition: 0 }],
    });
    expect(await json("groups")).toContainEqual(expect.objectContaining({ group: "mailer", lag: 0 }));
    expect(await json("lag", "--group", "mailer")).toMatchObject({ lag: 0, groups: [{ group: "mailer" }] });
    expect(await json("why", "mailer")).toMatchObject({ sentence: "mailer is up to date on orders.placed." });
    expect(await json("verify", "mailer", "--topic", "orders.placed")).toMatchObject({ ok: true });
    expect(await json("view", "ls", "totals", "--where", "order=7")).toMatchObject([
      { _key: "customer-42", order: 7 },
    ]);
    expect(await json("view", "get", "totals", "customer-42")).toMatchObject({ order: 7 });
    expect(await json("dlq", "ls")).toMatchObject([{ topic: "orders.placed", open: 1 }]);
    expect(await json("doctor")).toMatchObject({ ok: true });
    expect(await json("schema", "status")).toEqual([]);
    expect(await json("outbox", "status")).toMatchObject({ pending: 0, dead: 0 });
  });

  it("gives streams as lines", async () => {
    const { out } = await cli("tail", "orders.placed", "--from", "earliest", "--limit", "2", "--json");
    expect(
      out
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { seq: number }).seq),
    ).toEqual([1, 2]);
    const past = await cli("history", "orders.placed", "customer-42", "--json");
    expect(JSON.parse(past.out.trim())).toMatchObject({ key: "customer-42", payload: { order: 7 } });
  });

  it("gives failures as JSON on stderr, and nothing on stdout", async () => {
    const { code, out, err } = await cli("topics", "nope", "--json");
    expect({ code, out }).toEqual({ code: 3, out: "" });
    expect(JSON.parse(err)).toEqual({ error: { code: "NOT_FOUND", message: "there is no topic nope" } });
  });
});

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

describe("promethean, asked for what it does", () => {
  it("has help without loading anything else, in words for people", async () => {
    const all = await run(["--help"]);
    expect(all.code).toBe(0);
    for (const name of ["up", "serve", "publish", "dlq", "doctor", "lint"])
      expect(all.out).toContain(`\n  ${name} `);
    const one = await run(["dlq", "redrive", "--help"]);
    expect(one).toMatchObject({ code: 0, err: "" });
    expect(one.out).toContain("Examples:");
    expect((await run(["help", "topics"])).out).toContain("Usage: promethean topics");
    expect(one.out).toMatch(
      /^Options:[\s\S]*--dry-run[\s\S]*--yes[\s\S]*--help[\s\S]*^Connection:[\s\S]*--url[\s\S]*--context/m,
    );
    const outer = await run(["dlq", "--help"]);
    for (const { out } of [all, one, outer]) {
      expect(out).toContain("-h, --help");
      expect(out).not.toContain("display help");
      const beforeExamples = out.slice(0, out.indexOf("Examples:")).split("\n");
      expect(beforeExamples.filter((line) => line.length > 80)).toEqual([]);
    }
    const about = all.out.slice(all.out.indexOf("Where commands go"));
    expect(about.split("\n").filter((line) => line.length > 80)).toEqual([]);
    const lint = await run(["lint", "--help"]);
    const underExamples = lint.out.slice(lint.out.indexOf("Flags may stand"));
    expect(underExamples.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(all.out).toMatch(/^Run a hub:\n {2}up [\s\S]*^Events:\n {2}publish /m);
    expect((await run(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("completes commands and options in a shell", async () => {
    const words = async (...said: string[]): Promise<string[]> => {
      const list = ["promethean", ...said].map((word) => `"${word}"`).join(" ");
      const script =
        `source <(promethean completion bash); COMP_WORDS=(${list}); COMP_CWORD=${said.length}; _promethean; echo "$` +
        `{COMPREPLY[*]}"`;
      return (await sh(script)).out.trim().split(" ");
    };
    expect(await words("top")).toEqual(["topics", "topic"]);
    expect(await words("dlq", "re")).toEqual(["redrive"]);
    expect(await words("dlq", "redrive", "orders.placed", "--dry")).toEqual(["--dry-run"]);
    expect(await words("tail", "orders.placed", "--fr")).toEqual(["--from"]);
  });

  it("changes nothing in a dry run", async () => {
    const moved = await cli("cursor", "set", "mailer", "earliest", "--topic", "orders.placed", "--dry-run");
    expect(moved.out).toContain("4 settled events come again");
    expect((await cli("dlq", "redrive", "orders.placed", "--dry-run")).out).toContain(
      "1 letter would be redriven",
    );
    expect((await cli("dlq", "discard", "orders.placed", "--reason", "x", "--dry-run")).out).toContain(
      "1 letter would be discarded",
    );
    expect((await cli("replay", "orders.placed", "orders.again", "--dry-run")).out).toContain("4 events");
    expect(await json("lag", "--group", "mailer")).toMatchObject({ lag: 0 });
    expect(await json("dlq", "ls", "orders.placed")).toHaveLength(1);
  });

  it("ends a watch with 130 on Ctrl-C", async () => {
    const watching = start(["lag", "--watch", "--json", "--every", "1s"], { env: scene().env });
    await eventually(() => watching.out.trim().split("\n").length >= 2, "two looks");
    watching.child.kill("SIGINT");
    const { code, out } = await watching.ended;
    expect(code).toBe(130);
    for (const line of out.trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("lag");
  });
});

describe("promethean, before what cannot be taken back", () => {
  /** In a terminal, with these keys pressed once the question is there. */
  async function answered(keys: string): Promise<{ code: number | null; out: string }> {
    const command = `promethean cursor set mailer earliest --topic orders.placed`;
    const { env, folder: cwd, bin } = scene();
    const asking = shell(`script --quiet --return --flush --command '${command}' /dev/null`, {
      env: { ...env, TERM: "xterm" },
      cwd,
      bin,
      open: true,
    });
    await eventually(() => asking.out.includes("[y/N]"), "the question", 60_000);
    asking.child.stdin.write(keys);
    return asking.ended;
  }

  it("asks, and takes no for an answer", async () => {
    const no = await answered("n\n");
    expect(no.out).toContain("4 settled events come again");
    expect(no.out).toContain("nothing was changed");
    expect(no.code).toBe(1);
    expect((await answered("\x03")).code).toBe(130);
    const end = await answered("\x04");
    expect(end).toMatchObject({ code: 1, out: expect.stringContaining("nothing was changed") as string });
    expect(await json("lag", "--group", "mailer")).toMatchObject({ lag: 0 });
  });

  it("does it once it may", async () => {
    const yes = await answered("y\n");
    expect(yes.code).toBe(0);
    expect(yes.out).toContain("mailer was moved on orders.placed");
    expect(await json("lag", "--group", "mailer")).toMatchObject({ lag: 4 });
  });

  it("removes a group for good, after telling what it has not settled", async () => {
    const rm = ["cursor", "rm", "mailer", "--topic", "orders.placed"];
    const preview = await cli(...rm, "--dry-run");
    expect(preview.out).toBe("4 events have not been settled by mailer. Nothing was changed.\n");
    expect((await cli(...rm)).code).toBe(2);
    expect(await json(...rm, "--yes")).toEqual({
      ...{ topic: "orders.placed", group: "mailer" },
      ...{ removed: true, unsettled: 4 },
    });
    expect((await cli("lag", "--group", "mailer")).code).toBe(3);
  });

  it("removes a topic for good, after telling what is in it, unless somebody needs it", async () => {
    const needed = await cli("topic", "rm", "orders.placed", "--yes");
    expect([needed.code, needed.err]).toEqual([1, expect.stringContaining("remove the view first")]);
    const wouldBe = await cli("topic", "rm", "orders.placed", "--dry-run");
    expect([wouldBe.code, wouldBe.out]).toEqual([
      0,
      expect.stringMatching(
        /^orders\.placed.*events.* would be refused: .*remove the view first.* Nothing was changed\.$/m,
      ),
    ]);
    const rm = ["topic", "rm", "orders.old"];
    const preview = await cli(...rm, "--dry-run");
    expect(preview.out).toBe("orders.old: 1 event. Nothing was changed.\n");
    expect((await cli(...rm)).code).toBe(2);
    expect(await json(...rm, "--yes")).toEqual({
      ...{ topic: "orders.old", removed: true, events: 1 },
      ...{ deadLetters: 0, groups: [], others: [] },
    });
    expect((await cli("topics", "orders.old")).code).toBe(3);
    expect((await cli(...rm, "--yes")).code).toBe(3);
  });
});

describe("promethean --store mongodb://…", () => {
  it("works without a hub, as on a file", async () => {
    const database = await newDatabaseAddress();
    const env = { PROMETHEAN_STORE: database.url, PROMETHEAN_DATA: join(scene().folder, "none") };
    const placed = await run(["publish", "cli.mongo", '{"n":1}', "--key", "k", "--json"], { env });
    expect(JSON.parse(placed.out)).toMatchObject({ topic: "cli.mongo", seq: 1 });
    expect((await run(["history", "cli.mongo", "k"], { env })).out).toContain('{"n":1}');
    const doctor = await run(["doctor", "--json"], { env });
    expect(JSON.parse(doctor.out)).toMatchObject({ ok: true });
    expect(doctor.out).toContain("documents and cursors in one commit");
    await database.drop();
  });
});

describe("promethean schema", () => {
  it("registers what is compatible and refuses what is not, with a counter-example", async () => {
    expect(await json("schema", "register", "cli.orders", "order-v2.json")).toMatchObject({ version: 1 });
    const refused = await cli("schema", "check", "cli.orders", "order-v1.json");
    expect(refused.code).toBe(5);
    expect(refused.out).toContain("incompatible (backward)");
    expect(refused.out).toContain("for example {}");
    expect((await cli("schema", "register", "cli.orders", "order-v1.json")).code).toBe(5);
    expect(await json("schema", "status")).toMatchObject([{ topic: "cli.orders" }]);
  });

  it("what is published must fit the schemas of the store: else it ends with 5 and is not in the log", async () => {
    const store = ["--store", "bus.db"];
    await json("schema", "register", "cli.checked", "order-v1.json", ...store);
    const refused = await cli("publish", "cli.checked", '{"order":"one"}', ...store);
    expect(refused.code).toBe(5);
    expect(refused.err).toContain("payload.order");
    expect(await json("publish", "cli.checked", '{"order":1}', ...store)).toMatchObject({ seq: 1 });
  });
});

describe("promethean view", () => {
  it("rebuilds a view beside the old one, and takes it back", async () => {
    const done = await json("view", "rebuild", "totals", "--yes");
    expect(done).toMatchObject({ view: "totals", switched: true, same: 4, changed: 0 });
    const back = { view: "totals", from: "totals__2", to: "totals", others: [] };
    const would = "totals as before the last rebuild would be in use again.";
    const { code, err } = await cli("view", "rollback", "totals");
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(would) as string });
    const looked = await cli("view", "rollback", "totals", "--dry-run");
    expect(looked).toEqual({ code: 0, out: `${would} Nothing was changed.\n`, err: "" });
    expect(await json("view", "rollback", "totals", "--dry-run")).toEqual({ ...back, rolledBack: false });
    expect(await json("view", "rollback", "totals", "--yes")).toEqual({ ...back, rolledBack: true });
    const past = await cli("view", "at", "totals", "2020-01-01T00:00:00Z", "--json");
    expect(JSON.parse(past.out)).toEqual([]);
  });

  it("removes a view that no projector feeds any more, after telling what goes", async () => {
    const inUse = await cli("view", "rm", "totals", "--yes");
    expect(inUse).toMatchObject({ code: 1, err: expect.stringContaining("in use") as string });
    expect((await cli("view", "rm", "old-totals", "--dry-run")).out).toBe(
      "old-totals: 4 documents, in all builds. Nothing was changed.\n",
    );
    expect(await json("view", "rm", "old-totals", "--yes")).toMatchObject({ removed: true, documents: 4 });
    expect((await cli("view", "rm", "old-totals", "--yes")).code).toBe(3);
  });
});

describe("promethean token and context", () => {
  it("mints what it can inspect, and tells a forged one", async () => {
    const mint = ["token", "mint", "--subject", "shop", "--scope", "read:**", "--secret-file", "jwt-secret"];
    const { token } = (await json(...mint)) as { token: string };
    expect(await json("token", "inspect", token, "--secret-file", "jwt-secret")).toMatchObject({
      genuine: true,
      claims: { sub: "shop" },
    });
    writeFileSync(join(scene().folder, "other-secret"), SECRET.replace("secret", "riddle"));
    const forged = await cli("token", "inspect", token, "--secret-file", "other-secret");
    expect(forged.code).toBe(4);
  });

  it("shows the rules of a policy, and tells one that a hub would refuse", async () => {
    const rule = { effect: "deny", verbs: ["publish"], resources: ["orders.secret"] };
    const inspect = async (policy: unknown) => {
      const claims = new SignJWT({ scopes: ["publish:**"], policy }).setExpirationTime("1h");
      const token = await claims.setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(SECRET));
      return await cli("token", "inspect", token);
    };
    const good = await inspect({ rules: [rule] });
    expect([good.code, good.out]).toEqual([0, expect.stringContaining("deny publish:orders.secret")]);
    const bad = await inspect([rule]);
    expect([bad.code, bad.err]).toEqual([4, expect.stringContaining('the claim policy is { "rules"')]);
  });

  it("uses a saved connection, in a file that is the owner's alone", async () => {
    const { PROMETHEAN_URL = "", PROMETHEAN_CONTEXTS = "" } = scene().env;
    const env = { PROMETHEAN_CONTEXTS };
    await run(["context", "save", "here", "--url", PROMETHEAN_URL, "--token", "all"], { env });
    expect(statSync(PROMETHEAN_CONTEXTS).mode & 0o777).toBe(0o600);
    expect((await run(["topics", "orders.placed"], { env, cwd: scene().folder })).code).toBe(0);
    expect((await run(["context", "ls"], { env })).out).not.toContain("all");
    expect((await run(["context", "rm", "here"], { env })).code).toBe(0);
  });

  it("takes a saved token from a file, and a saved store from where it was saved", async () => {
    const { PROMETHEAN_URL = "", PROMETHEAN_CONTEXTS = "" } = scene().env;
    const env = { PROMETHEAN_CONTEXTS };
    const cwd = scene().folder;
    writeFileSync(join(cwd, "all-token"), "all\n");
    await run(["context", "save", "here", "--url", PROMETHEAN_URL, "--token-file", "all-token"], {
      env,
      cwd,
    });
    expect((await run(["topics", "orders.placed"], { env })).code).toBe(0);
    await run(["context", "save", "file", "--store", "bus.db"], { env, cwd });
    expect((await run(["topics"], { env })).code).toBe(0);
    for (const name of ["here", "file"]) await run(["context", "rm", name], { env });
  });
});
