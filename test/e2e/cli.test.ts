/** The command line as programs and people use it: JSON, help, completion, a store without a hub, schemas, tokens and contexts. */
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { run, start } from "../support/cli.js";
import { SECRET, sceneOfFile } from "../support/cli-scene.js";
import { eventually } from "../support/eventually.js";
import { newDatabaseAddress } from "../support/mongo/address.js";

const { scene, cli, json, sh } = sceneOfFile();

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
    expect((await run(["help", "dlq", "redrive"])).out).toBe(one.out);
    expect((await run(["help", "dlq"])).out).toContain("Usage: promethean dlq");
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
