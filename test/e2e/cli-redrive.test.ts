import { expect, it } from "vitest";
import { summarizeDeadLetters } from "../../src/project/letters/dead-letters.js";
import { start } from "../support/cli.js";
import { sceneOfFile } from "../support/cli-scene.js";
import { eventually } from "../support/eventually.js";

const { scene, cli } = sceneOfFile();

it("a redrive that is interrupted says what became of it, and the next one goes on", async () => {
  const { bus } = scene().fixture;
  const refuse = (): never => {
    throw new Error("no");
  };
  const stop = await bus.subscribe("orders.placed", "printer", refuse, { from: "earliest", maxAttempts: 1 });
  const printed = async (): Promise<number> =>
    (await summarizeDeadLetters(bus, "orders.placed")).byGroup["printer"] ?? 0;
  await eventually(async () => (await printed()) === 4, "all are dead letters");
  await stop();
  const listed = await cli("dlq", "ls", "orders.placed", "--group", "printer", "--newest", "--json");
  const seqs = (JSON.parse(listed.out) as { seq: number }[]).map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
  expect(seqs).toHaveLength(4);
  const args = ["dlq", "redrive", "orders.placed", "--group", "printer", "--yes"];
  const slow = start([...args, "--rate", "1"], { env: scene().env });
  await eventually(async () => (await printed()) < 4, "the first goes");
  slow.child.kill("SIGINT");
  expect(await slow.ended).toEqual({
    code: 130,
    out: "",
    err: "promethean: stopped; what was redriven stays so, and the same command goes on with the rest\n",
  });
  const left = await printed();
  expect(left).toBeGreaterThan(0);
  expect((await cli(...args)).out).toBe(
    `${left} letter${left === 1 ? "" : "s"} redriven to orders.placed.\n`,
  );
  expect(await printed()).toBe(0);
});
