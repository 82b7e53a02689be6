/** The command line, used wrongly: one clear error, an exit code that means something, and nothing on stdout. */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../support/cli.js";
import { sceneOfFile } from "../support/cli-scene.js";

const { scene, cli } = sceneOfFile();

describe("promethean, used wrongly", () => {
  it.each([
    [["nonsense"], 2, "unknown command 'nonsense'"],
    [["topics", "--nonsense"], 2, "unknown option '--nonsense'"],
    [["publish", "orders.placed"], 2, "missing required argument 'payload'"],
    [["publish", "Not A Topic", "1"], 2, "is not a topic name"],
    [["publish", "orders.placed", "{bad"], 5, "the payload is not JSON"],
    [["publish", "orders.placed", "-", "--id", "one"], 2, "--id is for one event"],
    [["publish", "orders.placed", "1", "--partition", "x", "--json"], 2, '{"error":{"code":"USAGE"'],
    [["nonsense", "--json"], 2, `{"error":{"code":"USAGE","message":"unknown command 'nonsense'"`],
    [["tail", "orders.placed", "--partition", "999"], 2, "orders.placed has partitions 0 to"],
    [["export", "orders.placed", "--partition", "999"], 2, "orders.placed has partitions 0 to"],
    [["lag", "--watch", "--every", "0s"], 2, "Give a span above 0."],
    [["why", ""], 2, "promethean: group is empty\n  is a variable of the shell not set?"],
    [["context", "save", "", "--url", "http://a"], 2, "promethean: name is empty"],
    [["verify", "mailer", "--topic", ""], 2, "promethean: --topic is empty"],
    [["groups", ".."], 2, 'a hub cannot be asked for ".."'],
    [["serve", "--store", "x.db", "--port", "all"], 5, "port: is a number from 0 to 65535"],
    [["import", "order-v1.json"], 2, "order-v1.json is a file, and the topic comes first"],
    [["tail", "orders.placed", "--from", "yesterday"], 2, "earliest"],
    [["tail", "nope"], 3, "there is no topic nope"],
    [["why", "nobody"], 3, "there is no group nobody"],
    [["view", "get", "totals", "nobody"], 3, "totals has no nobody"],
    [["dlq", "show", "orders.placed", "none"], 3, "no dead letter none"],
    [["import", "t", "missing.ndjson"], 3, "missing.ndjson cannot be read"],
    [["topics", "--token", "wrong"], 4, "a valid token is needed"],
    [["topics", "--token", "tök\nen"], 2, "what was given as token is none"],
    [
      ["context", "save", "x", "--url", "http://a", "--token", "tök\nen"],
      2,
      "what was given as token is none",
    ],
    [["publish", "orders.placed", "1", "--token", "reader"], 4, "lacks publish:orders.placed"],
    [["topics", "--url", "http://127.0.0.1:9"], 1, "no hub answers"],
    [["topics", "--url", "127.0.0.1:8420"], 2, "is no address of a hub"],
    [["context", "save", "x", "--url", "127.0.0.1:8420"], 2, "is no address of a hub"],
    [
      ["context", "save", "x", "--url", "http://a", "--token-file", "none"],
      2,
      "the token cannot be read from none",
    ],
    [["topics", "--store", "missing.db"], 3, "there is no store"],
    [["topics", "--store", "ftp://x"], 2, "is no store"],
    [["topics", "--context", "none"], 3, 'no context "none"'],
    [["cursor", "set", "mailer", "earliest", "--topic", "orders.placed"], 2, "add --yes"],
    [["view", "rebuild", "totals"], 2, "totals will be made anew from 4 events of orders.placed"],
    [["view", "rebuild", "nothing"], 3, "no projector makes a view nothing"],
    [["view", "rollback", "totals"], 3, "the view totals has nothing to go back to"],
    [["view", "rollback", "totals", "--dry-run"], 3, "the view totals has nothing to go back to"],
    [["dlq", "redrive", "orders.placed"], 2, "add --yes"],
    [["dlq", "discard", "orders.placed", "--reason", "x"], 2, "add --yes"],
    [["replay", "orders.placed", "orders.again"], 2, "add --yes"],
    [
      ["token", "mint", "--subject", "a", "--scope", "fly:x", "--secret-file", "jwt-secret"],
      2,
      "is not a scope",
    ],
    [
      ["token", "mint", "--subject", "a", "--scope", "read:a publish:a", "--secret-file", "jwt-secret"],
      2,
      '"read:a publish:a" is several scopes in one',
    ],
    [["token", "inspect", "nonsense"], 5, "no JWT"],
    [["config", "check", "--config", "order-v1.json"], 5, "Unrecognized key"],
    [["config", "check", "--config", "missing.yaml"], 3, "missing.yaml cannot be read"],
    [["serve", "--config", "missing.yaml"], 3, "missing.yaml cannot be read"],
    [["compact"], 2, "works on a store"],
    [["backup", "copy.db"], 2, "this store has none"],
    [["backup", "copy.db", "--store", "memory"], 2, "this store has none"],
    [["backup", "orders.ndjson", "--store", "bus.db"], 2, "orders.ndjson is there already"],
    [["schema", "check", "orders.placed", "jwt-secret"], 5, "is not JSON"],
    [["schema", "check", "orders.placed", "jwt-secret", "--version", "2"], 5, "is not JSON"],
  ] as const)("%j ends with %i", async (args, code, words) => {
    const ended = await cli(...args);
    expect(ended.err).toContain(words);
    expect(ended).toMatchObject({ code, out: "" });
    expect(ended.err).not.toMatch(/^\s+at /m);
  });

  it("makes no store of an empty file that it was to look at", async () => {
    const path = join(scene().folder, "looked-at.db");
    writeFileSync(path, "");
    for (const args of [["topics"], ["lag"], ["publish", "a", "1"], ["backup", "copy.db"]]) {
      const ended = await cli(...args, "--store", "looked-at.db");
      expect(ended).toMatchObject({ code: 3, out: "" });
      expect(ended.err).toContain(`there is no store ${path}: the file is empty`);
    }
    expect(readdirSync(scene().folder).filter((name) => name.startsWith("looked-at"))).toEqual([
      "looked-at.db",
    ]);
    expect(statSync(path).size).toBe(0);
  });

  it("takes a token from the environment with the line break that its file ended in", async () => {
    const { folder, env } = scene();
    const ended = await run(["topics"], { cwd: folder, env: { ...env, PROMETHEAN_TOKEN: "all\n" } });
    expect(ended).toMatchObject({ code: 0, err: "" });
  });

  it("says where to go when there is nothing to talk to", async () => {
    const { code, err } = await run(["topics"], {
      cwd: scene().folder,
      env: { PROMETHEAN_DATA: join(scene().folder, "nothing") },
    });
    expect(code).toBe(2);
    expect(err).toContain("promethean up");
  });
});
