/** What a browser fetches before the console's first page is there: its page, and what that names, on and on. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const NAMED = /(?:src|href)="\/([^"]+\.(?:js|css|svg))"/g;
const IMPORTED = /(?:from|import)\s*"\.\/([\w.-]+\.js)"/g;
/** The first page is loaded by the router. */
const FIRST_PAGE = /^overview-.*\.js$/;

/** Kilobytes by gzip, and how many files. */
export function firstLoad(folder: string): readonly number[] {
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const assets = readdirSync(join(folder, "assets"));
  const wanted = [
    ...[...page.matchAll(NAMED)].map(([, path = ""]) => path),
    ...assets.filter((name) => FIRST_PAGE.test(name)).map((name) => `assets/${name}`),
  ];
  const seen = new Map([["index.html", page]]);
  for (let path = wanted.pop(); path !== undefined; path = wanted.pop()) {
    if (seen.has(path)) continue;
    const text = readFileSync(join(folder, path), "utf8");
    seen.set(path, text);
    if (path.endsWith(".js")) for (const [, name] of text.matchAll(IMPORTED)) wanted.push(`assets/${name}`);
  }
  const bytes = [...seen.values()].reduce((sum, text) => sum + gzipSync(text).length, 0);
  return [bytes / 1_000, seen.size];
}
