import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";

const file = (name: string): string => readFileSync(new URL(`../../ops/${name}`, import.meta.url), "utf8");

/** Words of PromQL, labels and variables that look like names of metrics. */
const NOT_METRICS =
  /^(sum|max|min|rate|deriv|increase|histogram_quantile|label_values|by|on|and|unless|le|topic|group|up|job)$/;

function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, "")
    .replaceAll(/\{[^}]*\}/g, "")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/(by|on) \([^)]*\)/g, "");
  return [...bare.matchAll(/[a-z_][a-z0-9_]*/gi)]
    .map(([word]) => word)
    .filter((word) => !NOT_METRICS.test(word));
}

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
  templating: { list: { query: string; type: string }[] };
}
interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
}

describe("what operators import", () => {
  let f: HubFixture;
  let exported: string;
  beforeAll(async () => {
    f = await hubFixture();
    const fail = (event: { payload: unknown }): void => {
      if (event.payload === "bad") throw new Error("no");
    };
    await f.bus.subscribe("orders", "g", fail, { from: "earliest", maxAttempts: 1 });
    for (const payload of ["good", "better"]) await f.bus.publish("orders", payload);
    await f.bus.publish("orders", "bad");
    const text = async (): Promise<string> => (await f.get("/metrics")).text();
    await vi.waitFor(
      async () => expect(await text()).toContain('dead_letters_open{topic="orders"} 1'),
      30_000,
    );
    exported = await text();
  });
  afterAll(() => f.close());

  const isExported = (metric: string): boolean => new RegExp(`^${metric}(\\{| )`, "m").test(exported);

  it("names in the dashboard only metrics that a hub exports", () => {
    const { panels, templating } = JSON.parse(file("grafana-dashboard.json")) as Dashboard;
    expect(panels.length).toBeGreaterThan(10);
    const variables = templating.list.filter(({ type }) => type === "query").map(({ query }) => query);
    const inVariables = variables.map((query) => /label_values\((\w+)/.exec(query)?.[1] ?? query);
    for (const { title, targets } of panels)
      for (const { expr } of targets)
        for (const metric of metricsIn(expr))
          expect([title, metric, isExported(metric)]).toEqual([title, metric, true]);
    for (const metric of inVariables) expect([metric, isExported(metric)]).toEqual([metric, true]);
  });

  it("names in the alerts only metrics that a hub exports, and says what to do", () => {
    const { groups } = parse(file("prometheus-alerts.yml")) as Rules;
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(5);
    for (const { alert, expr, annotations } of rules) {
      for (const metric of metricsIn(expr))
        expect([alert, metric, isExported(metric)]).toEqual([alert, metric, true]);
      expect(annotations.summary).toMatch(/\.$/);
    }
  });

  it("counts a histogram as Prometheus does: growing buckets, the last one the count", () => {
    const values = [...exported.matchAll(/^delivery_handler_duration_ms_bucket\{.*\} (\d+)$/gm)].map(
      ([, n]) => Number(n),
    );
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(values.at(-1)).toBe(3);
    expect(exported).toMatch(
      /^delivery_handler_duration_ms_bucket\{le="\+Inf",topic="orders",group="g"\} 3$/m,
    );
    expect(exported).toMatch(/^delivery_handler_duration_ms_count\{topic="orders",group="g"\} 3$/m);
    expect(exported).toMatch(/^# TYPE delivery_handler_duration_ms histogram$/m);
  });

  it("lists every metric of the hub's own on the page that explains them", () => {
    const names = [...exported.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name as string);
    const own = names.filter((name) => !name.startsWith("promethean_"));
    for (const name of own) expect([name, file("README.md").includes(`\`${name}\``)]).toEqual([name, true]);
  });
});
