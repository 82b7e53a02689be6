import { describe, expect, it } from "vitest";
import { type Task, TaskBoard } from "./task.js";

function named(name: string, stopped: string[]): Task {
  const stop = async (): Promise<void> => void stopped.push(name);
  const report = { name, kind: "test", state: "running", startedMs: 0, restarts: 0, stats: {} } as const;
  return { handle: { name, stop, stats: () => ({}) }, report: () => report };
}

describe("TaskBoard", () => {
  it("stops the last started first, and whatever was still starting as soon as it comes", async () => {
    const board = new TaskBoard();
    const stopped: string[] = [];
    board.add(named("a", stopped));
    board.add(named("b", stopped));
    await board.stopAll();
    expect(stopped).toEqual(["b", "a"]);
    board.add(named("late", stopped));
    await expect.poll(() => stopped).toEqual(["b", "a", "late"]);
    expect(board.reports().map(({ name }) => name)).toEqual(["a", "b", "late"]);
  });
});
