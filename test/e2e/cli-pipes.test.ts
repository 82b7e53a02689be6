/** Commands whose reader leaves, as `head` does: they end, and nothing is lost by it. */
import { expect, it } from "vitest";
import { summarizeDeadLetters } from "../../src/project/letters/dead-letters.js";
import { type Ended, shell } from "../support/cli.js";
import { sceneOfFile } from "../support/cli-scene.js";
import { eventually } from "../support/eventually.js";

const { scene } = sceneOfFile();

function typed(line: string): Promise<Ended> {
  const { bin, env, folder } = scene();
  return shell(line, { bin, env, cwd: folder }).ended;
}

const quiet = { code: 0, err: "" };

it("P8: a program for each event that writes to nobody costs no event: the subscription ends", async () => {
  const { bus } = scene().fixture;
  const before = await summarizeDeadLetters(bus, "orders.placed");
  const line = "promethean subscribe orders.placed --group pipe --from earliest --exec cat";
  expect(await typed(`${line} | true`)).toMatchObject(quiet);
  expect(await summarizeDeadLetters(bus, "orders.placed")).toEqual(before);
  const again = await typed(`${line} --limit 4`);
  expect(again).toMatchObject(quiet);
  const orders = again.out.trim().split("\n");
  expect(orders.map((text) => JSON.parse(text).payload.order)).toEqual([7, 12, 13, 14]);
});

it("tail ends with the next event when its reader has left", async () => {
  const { bus } = scene().fixture;
  const { bin, env, folder } = scene();
  const line = "promethean tail orders.placed --from earliest | head -1";
  const running = shell(line, { bin, env, cwd: folder });
  let isOver = false;
  const ended = running.ended.finally(() => {
    isOver = true;
  });
  await eventually(() => running.out !== "", "the first line");
  await eventually(async () => {
    await bus.publish("orders.placed", { order: 15 });
    return isOver;
  }, "the end of it");
  const { out, ...rest } = await ended;
  expect(rest).toEqual(quiet);
  expect(out).toMatch(/^.*orders\.placed 0\/1 .*\n$/);
});

it.each(["topics", "export orders.placed", "--help"])(
  "%s says so once where its output cannot be written",
  async (command) => {
    // Open, but for reading alone: as little goes there as onto a full disk.
    const { code, err } = await typed(`promethean ${command} 1< /dev/null`);
    expect({ code, err }).toEqual({ code: 1, err: "promethean: the output cannot be written (EBADF)\n" });
  },
);

it.each([
  "topics",
  "groups",
  "lag",
  "lag --watch --every 1s",
  "dlq ls orders.placed",
  "view ls",
  "history orders.placed customer-42",
  "export orders.placed",
  "why mailer",
  "config print --config hub.yaml",
  "outbox status",
  "doctor",
  "--help",
])("%s writes to nobody without a word", async (command) => {
  expect(await typed(`promethean ${command} | true`)).toMatchObject(quiet);
});
