import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folderCircles, importViolations, type SourceFile } from "./import-rules.js";

const src = fileURLToPath(new URL("../../src", import.meta.url));

function sources(): SourceFile[] {
  return readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(src, path).replaceAll(sep, "/"), text: readFileSync(path, "utf8") }));
}

/** The violations of one planted file, without the file's name. */
function planted(path: string, ...lines: string[]): string[] {
  return importViolations([{ path, text: lines.join("\n") }]).map((line) => line.replace(`src/${path}`, ""));
}

describe("import directions", () => {
  const files = sources();

  it("hold in every file of src", () => {
    expect(files.length).toBeGreaterThan(10);
    expect(importViolations(files)).toEqual([]);
  });

  it("are one way between the folders inside a folder", () => {
    expect(folderCircles(files)).toEqual([]);
  });
});

describe("the checker of import directions", () => {
  it("names the file, the line and the rule", () => {
    const text =
      'import { step } from "./delivery.js";\n\nimport { createBus } from "../bus/create-bus.js";\n';
    expect(importViolations([{ path: "consume/subscribe.ts", text }])).toEqual([
      "src/consume/subscribe.ts:3 imports bus (bus/create-bus.js), but consume may import only model, ports",
    ]);
  });

  it("reads every form of import", () => {
    const lines = [
      'import "../bus/a.js";',
      'import type { A } from "../bus/a.js";',
      'export * from "../bus/a.js";',
      'export type { A } from "../bus/a.js";',
      'const a = await import("../bus/a.js");',
      'type B = import("../bus/a.js").B;',
      'const c = require("../bus/a.js");',
      'import d = require("../bus/a.js");',
      'function later() { return () => import(/* webpackIgnore: true */ "../bus/a.js"); }',
      'declare module "mine" { export * from "../bus/a.js"; }',
    ];
    const violations = planted("ports/log.ts", ...lines);
    expect(violations.map((line) => line.split(" ")[0])).toEqual(lines.map((_, i) => `:${i + 1}`));
    for (const line of lines) expect(planted("ports/log.ts", line), line).toHaveLength(1);
  });

  it("finds folders that lead back to themselves, by whatever way", () => {
    const file = (path: string, specifier: string): SourceFile => ({ path, text: `import "${specifier}";` });
    const files = [
      file("project/views/view.ts", "../letters/redrive.js"),
      file("project/letters/redrive.ts", "../history/deep/snapshot.js"),
      file("project/history/deep/snapshot.ts", "../../host.js"),
      file("project/history/snapshot.test.ts", "../views/view.js"),
    ];
    expect(folderCircles(files)).toEqual([]);
    expect(folderCircles([...files, file("project/history/compactor.ts", "../views/view.js")])).toEqual([
      "src/project: history imports views",
      "src/project: letters imports history",
      "src/project: views imports letters",
    ]);
  });

  it("is not fooled by comments and strings", () => {
    expect(planted("model/a.ts", '// import "../bus/a.js"', "const s = 'import \"../bus/a.js\"';")).toEqual(
      [],
    );
  });

  it.each([
    ["model/event.ts", "../ports/log.js"],
    ["ports/log.ts", "../publish/batch.js"],
    ["publish/batch.ts", "../consume/delivery.js"],
    ["consume/delivery.ts", "../project/changelog.js"],
    ["project/changelog.ts", "../schema/registry.js"],
    ["schema/registry.ts", "../publish/batch.js"],
    ["project/changelog.ts", "../stores/memory/index.js"],
    ["bus/create-bus.ts", "../hub/server.js"],
    ["bus/create-bus.ts", "../stores/memory/index.js"],
    ["hub/server.ts", "../cli/main.js"],
    ["hub/server.ts", "../index.js"],
    ["stores/memory/log.ts", "../../consume/delivery.js"],
    ["stores/memory/log.ts", "../mongo/log.js"],
    ["testing/history.ts", "../bus/create-bus.js"],
    ["testing/history.ts", "../stores/memory/index.js"],
    ["testing/simulator/world.ts", "../../stores/mongo/index.js"],
    ["testing/simulator/world.ts", "../../publish/batch.js"],
    ["client/client.ts", "../hub/server.js"],
    ["client/client.ts", "../bus/create-bus.js"],
    ["console/app.tsx", "../model/event.js"],
    ["index.ts", "./hub/server.js"],
    ["index.ts", "./cli/main.js"],
    ["index.ts", "./console/app.js"],
    ["model/event.ts", "./event.test.js"],
    ["model/event.ts", "../../test/unit/import-rules.js"],
    ["utils/things.ts", "../model/event.js"],
    ["model/event.ts", "promethean"],
    ["publish/batch.ts", "mongodb"],
    ["project/process.ts", "mongodb"],
    ["stores/embedded/log.ts", "mongodb"],
    ["stores/memory/log.ts", "libsql"],
    ["bus/create-bus.ts", "vitest"],
  ])("forbids %s to import %s", (path, specifier) => {
    expect(planted(path, `import "${specifier}";`)).toHaveLength(1);
  });

  it.each([
    ["model/event.ts", "./ids.js"],
    ["model/event.ts", "uuid"],
    ["model/event.ts", "node:crypto"],
    ["ports/log.ts", "../model/event.js"],
    ["consume/delivery.ts", "../ports/store.js"],
    ["bus/create-bus.ts", "../consume/subscribe.js"],
    ["hub/server.ts", "../bus/create-bus.js"],
    ["cli/start.ts", "../stores/embedded/index.js"],
    ["cli/start.ts", "../hub/server.js"],
    ["cli/start.ts", "../index.js"],
    ["stores/memory/log.ts", "../../ports/log.js"],
    ["stores/memory/log.ts", "./index.js"],
    ["stores/mongo/log.ts", "mongodb"],
    ["stores/mongo/log.ts", "../ranges.js"],
    ["stores/embedded/log.ts", "libsql"],
    ["project/changefeed.ts", "mongodb"],
    ["project/changefeed-shell.ts", "mongodb"],
    ["testing/conformance/log.ts", "vitest"],
    ["testing/conformance/log.ts", "../history.js"],
    ["testing/simulator/world.ts", "../../bus/create-bus.js"],
    ["testing/simulator/world.ts", "../../stores/memory/index.js"],
    ["testing/simulator/world.ts", "../manual-clock.js"],
    ["testing/index.ts", "./simulator/world.js"],
    ["client/client.ts", "../hub/protocol.js"],
    ["client/client.ts", "../hub/protocol/frames.js"],
    ["console/app.tsx", "../client/index.js"],
    ["index.ts", "./stores/memory/index.js"],
    ["index.ts", "./bus/create-bus.js"],
    ["consume/delivery.test.ts", "../bus/create-bus.js"],
  ])("allows %s to import %s", (path, specifier) => {
    expect(planted(path, `import "${specifier}";`)).toEqual([]);
  });
});
