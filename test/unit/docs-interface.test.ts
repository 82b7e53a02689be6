/** docs/http-api.md and PROTOCOL.md say what a hub offers: its routes with their parameters, statuses, close codes. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ACTIONS } from "../../src/console/data/rights.js";
import { HubError, problemOf } from "../../src/hub/problem.js";
import { CloseCode } from "../../src/hub/protocol.js";
import { type HubFixture, hubFixture } from "../support/hub-fixture.js";

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
const page = read("docs/http-api.md");
const sections = page.split(/^##+ /m);

interface Operation {
  readonly description?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema?: { properties?: object } }> };
}

/** "GET /topics/:topic" of each place where a text names a route. */
function routesIn(text: string): string[] {
  const named = text.matchAll(/((?:(?:GET|HEAD|POST)`?,? ?`?)+)(\/[\w\-/:.]+)/g);
  return [...named].flatMap(([, methods = "", path = ""]) =>
    [...methods.matchAll(/[A-Z]+/g)].map(([method]) => `${method} ${path}`),
  );
}

describe("the page of the HTTP interface", () => {
  let f: HubFixture;
  let operations: Map<string, Operation>;
  beforeAll(async () => {
    f = await hubFixture();
    const { paths } = (await (await f.get("/openapi.json")).json()) as {
      paths: Record<string, Record<string, Operation>>;
    };
    operations = new Map(
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]): [string, Operation] => [
          `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
          operation,
        ]),
      ),
    );
  });
  afterAll(() => f.close());

  it("has every route, and no others", () => {
    const told = new Set(routesIn(page));
    // The first is that of a view, asked where there is one only; HEAD is answered as GET is.
    for (const other of ["GET /snap/:key", "HEAD /snap/:view/:key"]) expect(told.delete(other)).toBe(true);
    expect([...told].sort()).toEqual([...operations.keys()].sort());
  });

  it("names in its section each parameter of a route, and each member of its body", () => {
    for (const [route, { parameters = [], requestBody }] of operations) {
      const text = sections.filter((section) => routesIn(section).includes(route)).join("\n");
      const { properties = {} } = requestBody?.content["application/json"]?.schema ?? {};
      const names = [
        ...parameters.filter((one) => one.in === "query").map(({ name }) => name),
        ...Object.keys(properties),
      ];
      expect([route, names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))]).toEqual([route, []]);
    }
  });

  it("asks for operations that docs/security.md and the console list, and for all of them", () => {
    const asked = [...operations.values()].flatMap(
      ({ description = "" }) => description.match(/\bops:[a-z]+/g) ?? [],
    );
    const listed = read("docs/security.md").match(/^\| (.*`ops:cursor`.*?) \|/m)?.[1] ?? "";
    expect(listed.match(/\bops:[a-z]+/g)?.sort()).toEqual([...new Set(asked)].sort());
    expect(ACTIONS.map((action) => `ops:${action}`).sort()).toEqual([...new Set(asked)].sort());
  });

  it("has every status with its codes", () => {
    const rows = [...page.matchAll(/^\| (\d{3}) \| (.+) \|$/gm)];
    const told = rows.flatMap(([, status, codes = ""]) =>
      [...codes.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => [code, Number(status)]),
    );
    const source = read("src/hub/problem.ts") + read("src/model/errors.ts");
    const unions = [...source.matchAll(/export type \w*Code =([^;]+);/g)].map(([, union]) => union).join();
    const codes = [...unions.matchAll(/"([A-Z_]+)"/g)].map(([, code]) => code as HubError["code"]);
    expect(codes.length).toBeGreaterThan(30);
    // No request fails by a handler of somebody else's.
    const answered = codes.filter((code) => code !== "HANDLER_FAILED");
    const meant = answered.map((code): [string, number] => [code, problemOf(new HubError(code, "")).status]);
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(meant));
  });
});

it("PROTOCOL.md has every code with which a hub closes a connection", () => {
  const table = read("PROTOCOL.md").split("## Close codes")[1] ?? "";
  const told = [...table.matchAll(/^\| (\d{4}(?:, \d{4})*) \|/gm)].flatMap(([, codes = ""]) =>
    codes.split(", ").map(Number),
  );
  expect(told.sort()).toEqual(Object.values(CloseCode).sort());
});
