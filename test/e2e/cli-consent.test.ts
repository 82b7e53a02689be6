/** The command line before what cannot be taken back: it says what that means, and asks. */
import { describe, expect, it } from "vitest";
import { shell } from "../support/cli.js";
import { sceneOfFile } from "../support/cli-scene.js";
import { eventually } from "../support/eventually.js";

const { scene, cli, json } = sceneOfFile();

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
