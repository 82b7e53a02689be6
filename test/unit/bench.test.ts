import { describe, expect, it } from "vitest";
import { chartSvg } from "../../bench/chart.js";
import { filledPage } from "../../bench/report-markdown.js";
import { reportText } from "../../bench/report-text.js";
import { runSuite } from "../../bench/run-suite.js";
import { summarise } from "../../bench/statistics.js";
import type { Suite } from "../../bench/suite.js";

/** Cases that give these figures, the first while warming up, and a record of whose turn it was. */
function scripted(figures: Readonly<Record<string, readonly number[]>>, ratios: Suite["ratios"] = []) {
  const turns: string[] = [];
  const cases = Object.entries(figures).map(([name, values]) => {
    const left = [...values];
    return {
      name,
      unit: "events/s",
      measure: async () => {
        turns.push(name);
        return left.shift() ?? Number.NaN;
      },
    };
  });
  return { turns, suite: { name: "scripted", cases, ratios } };
}

const options = { rounds: 3, onProgress: () => undefined };

describe("the benchmark harness", () => {
  it("gives every case a turn in every round, another one first each time", async () => {
    const { suite, turns } = scripted({ a: [1, 1, 1, 1], b: [1, 1, 1, 1], c: [1, 1, 1, 1] });
    await runSuite(suite, options);
    expect(turns.join("")).toBe("abcbcacababc");
  });

  it("counts medians and forgets the round that warms up", async () => {
    const { suite } = scripted({ a: [999, 30, 10, 20] });
    const { figures } = await runSuite(suite, options);
    expect(figures).toEqual([
      { name: "a", unit: "events/s", median: 20, min: 10, max: 30, spreadPct: 100, samples: [30, 10, 20] },
    ]);
  });

  it("takes ratios inside a round and holds them to their goals", async () => {
    const { suite } = scripted({ one: [0, 30, 10, 80], ten: [0, 10, 5, 20] }, [
      { name: "cost", of: "one", to: "ten", atMost: 3 },
      { name: "too dear", of: "one", to: "ten", atMost: 2 },
      { name: "enough", of: "one", to: "ten", atLeast: 3 },
      { name: "no goal", of: "ten", to: "one" },
    ]);
    const { ratios } = await runSuite(suite, options);
    expect(ratios.map(({ name, median, met }) => [name, median, met])).toEqual([
      ["cost", 3, true],
      ["too dear", 3, false],
      ["enough", 3, true],
      ["no goal", 1 / 3, undefined],
    ]);
  });

  it("refuses a ratio of figures that do not exist", async () => {
    const { suite } = scripted({ a: [1, 1, 1, 1] }, [{ name: "r", of: "a", to: "b" }]);
    await expect(runSuite(suite, options)).rejects.toThrow('the ratio "r" names no figure');
  });

  it("holds a figure to its own goal", async () => {
    const { suite } = scripted({ a: [0, 10, 20, 30] });
    const [first] = suite.cases;
    const cases = [{ ...(first as Suite["cases"][number]), atMost: 15, durability: "synced" }];
    const { figures } = await runSuite({ ...suite, cases }, options);
    expect(figures[0]).toMatchObject({ atMost: 15, met: false, durability: "synced" });
  });

  it("names what is absent, and leaves ratios to it out", async () => {
    const { suite } = scripted({ "publish: a": [1, 1, 1, 1] }, [
      { name: "r", of: "publish: a", to: "publish: b" },
    ]);
    const report = await runSuite({ ...suite, absent: [{ name: "b", why: "not installed" }] }, options);
    expect(report.ratios).toEqual([]);
    expect(reportText(report)).toMatch(/^b +absent +not installed$/m);
  });

  it("closes the suite, also when a case fails", async () => {
    let closed = 0;
    const failing: Suite = {
      name: "failing",
      cases: [{ name: "a", unit: "ms", measure: () => Promise.reject(new Error("no")) }],
      ratios: [],
      close: async () => void closed++,
    };
    await expect(runSuite(failing, options)).rejects.toThrow("no");
    expect(closed).toBe(1);
  });

  it("draws a panel for each kind of figure, a bar for each figure, and escapes their names", async () => {
    const { suite } = scripted({
      "publish: <a>": [1, 2, 4, 3],
      "publish: b": [1, 1, 1, 1],
      "read: b": [1, 1, 1, 1],
    });
    const svg = chartSvg(await runSuite(suite, options), "");
    expect(svg.match(/class="title"/g)).toHaveLength(2);
    expect(svg.match(/<rect/g)).toHaveLength(3);
    expect(svg).toContain("&#60;a&#62;");
    expect(chartSvg(await runSuite(suite, options), "read").match(/<rect/g)).toHaveLength(1);
  });

  it("fills the places of a page whose suites were measured, and leaves the others", async () => {
    const { suite } = scripted({ "publish: a": [1, 2, 2, 2] });
    const page =
      "<!-- figures: scripted -->\nold\n<!-- end -->\n<!-- figures: other -->\nkept\n<!-- end -->\n";
    const filled = filledPage(page, [await runSuite(suite, options)]);
    expect(filled).toContain("| publish: a | 2.00 | ±0 % | events/s |");
    expect(filled).not.toContain("old");
    expect(filled).toContain("<!-- figures: other -->\nkept\n<!-- end -->");
  });

  it("prints a table that lines up", async () => {
    const { suite } = scripted({ publish: [0, 1_000, 1_200, 1_100] }, [
      { name: "cost", of: "publish", to: "publish", atMost: 3 },
    ]);
    expect(
      reportText(await runSuite(suite, options))
        .split("\n")
        .slice(1),
    ).toEqual([
      "         median  spread  unit",
      "publish   1,100    ±9 %  events/s",
      "cost       1.00    ±0 %  × (at most 3: met)",
    ]);
  });

  it("lets a case measure several figures at once", async () => {
    const both: Suite = {
      name: "both",
      cases: [
        {
          name: "rate",
          unit: "events/s",
          also: [{ name: "cost", unit: "µs" }],
          measure: async () => [500, 2],
        },
      ],
      ratios: [{ name: "r", of: "rate", to: "cost" }],
    };
    const { figures, ratios } = await runSuite(both, options);
    expect(figures.map(({ name, median }) => [name, median])).toEqual([
      ["rate", 500],
      ["cost", 2],
    ]);
    expect(ratios[0]?.median).toBe(250);
  });

  it("takes the middle of an even number of measurements", () => {
    expect(summarise([4, 1, 3, 2]).median).toBe(2.5);
  });
});
