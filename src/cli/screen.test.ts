import { describe, expect, it } from "vitest";
import { isScreen, Screen } from "./screen.js";

function terminal() {
  const written: string[] = [];
  return { columns: 80, rows: 24, written, write: (text: string) => written.push(text) };
}

describe("the screen", () => {
  it("is for terminals that know a cursor", () => {
    expect(isScreen(true, "xterm")).toBe(true);
    expect(isScreen(true, "dumb")).toBe(false);
    expect(isScreen(false, "xterm")).toBe(false);
  });

  it("draws over what it drew, and gives the terminal back with its cursor", () => {
    const out = terminal();
    const screen = new Screen(out);
    screen.enter();
    screen.enter();
    screen.draw(["one", "two"]);
    screen.leave();
    screen.leave();
    expect(out.written).toEqual([
      "\x1b[?1049h\x1b[?25l",
      "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J",
      "\x1b[?25h\x1b[?1049l",
    ]);
    expect(screen.size).toEqual({ columns: 80, lines: 24 });
  });

  it("draws nothing on a terminal that it has not entered or has left", () => {
    const out = terminal();
    const screen = new Screen(out);
    screen.draw(["one"]);
    screen.leave();
    expect(out.written).toEqual([]);
  });

  it("leaves out what does not fit, so that no line wraps and none scrolls away", () => {
    const written: string[] = [];
    const screen = new Screen({ columns: 6, rows: 3, write: (text) => written.push(text) });
    screen.enter();
    screen.drawFitting(["123456", "1234567"]);
    screen.drawFitting(["1", "2", "3", "4"]);
    expect(written.slice(1)).toEqual([
      "\x1b[H123456\x1b[K\r\n12345…\x1b[K\x1b[J",
      "\x1b[H1\x1b[K\r\n2\x1b[K\r\n… and…\x1b[K\x1b[J",
    ]);
  });
});
