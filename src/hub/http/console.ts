/**
 * The console as files: its page at `/` and below `/ui/`, its hashed assets below `/assets/`. It needs no token: the page
 * holds nothing, what it shows comes through the interface, with the token of whoever looks.
 *
 * The policy lets the page load and call nothing but this hub. All files are read together when the hub starts: whatever
 * replaces them meanwhile, page and assets are of one build, and no path reaches the file system. The page names its assets from where it
 * lies, so that a proxy may put all of it below a path of its own.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HubApp, HubRequest } from "./base.js";

/** From `src/` and from `dist/` alike. */
const BUILT = fileURLToPath(new URL("../../../dist/console/", import.meta.url));

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_HEADERS = {
  "Content-Security-Policy": POLICY,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
};

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Asked for by the name of what is packed in them. */
const PACKED = /\.(br|gz)$/;

interface Asset {
  readonly type: string;
  readonly plain: Uint8Array;
  readonly packed: Readonly<Partial<Record<"br" | "gzip", Uint8Array>>>;
}

/** The files of one build. */
interface Build {
  readonly index: Asset;
  readonly assets: ReadonlyMap<string, Asset>;
}

/** Whether a path is one of the console's, which need no token. */
export function isConsolePath(path: string): boolean {
  return path === "/" || path === "/ui" || path.startsWith("/ui/") || path.startsWith("/assets/");
}

export function consoleRoutes(app: HubApp, folder = BUILT): void {
  let files = readBuild(folder);
  /** Where no build was whole yet, it is looked for again. */
  const build = (): Build | undefined => {
    files ??= readBuild(folder);
    return files;
  };
  const page = (c: HubRequest): Response => {
    const index = build()?.index;
    if (index === undefined)
      return c.text("The console's files are not there, or not all of them: run `npm run build`.\n", 404);
    return send(c, seenFrom(c.req.path, index), { ...PAGE_HEADERS, "Cache-Control": "no-cache" });
  };
  app.get("/", page);
  app.get("/ui", page);
  app.get("/ui/*", page);
  app.get("/assets/:name", (c) => {
    const asset = build()?.assets.get(c.req.param("name"));
    if (asset === undefined) return c.text("The console has no such file; another build may have.\n", 404);
    return send(c, asset, {
      "Cache-Control": "public, max-age=31536000, immutable",
      "X-Content-Type-Options": "nosniff",
    });
  });
}

/** Undefined unless the page is there with everything that it names. */
function readBuild(folder: string): Build | undefined {
  const index = readAsset(folder, "index.html");
  if (index === undefined) return undefined;
  const assets = new Map<string, Asset>();
  for (const name of listed(join(folder, "assets"))) {
    const asset = PACKED.test(name) ? undefined : readAsset(folder, `assets/${name}`);
    if (asset !== undefined) assets.set(name, asset);
  }
  const page = new TextDecoder().decode(index.plain);
  const named = [...page.matchAll(/"\.\/assets\/([^"]+)"/g)];
  return named.every(([, name = ""]) => assets.has(name)) ? { index, assets } : undefined;
}

/** The page as it stands at a path: below `/ui/` its files are further up. */
function seenFrom(path: string, index: Asset): Asset {
  const above = path.split("/").length - 2;
  if (above === 0) return index;
  const page = new TextDecoder().decode(index.plain).replaceAll('"./', `"${"../".repeat(above)}`);
  return { type: index.type, plain: new TextEncoder().encode(page), packed: {} };
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readAsset(folder: string, name: string): Asset | undefined {
  const read = (suffix: string): Uint8Array | undefined => {
    try {
      return readFileSync(join(folder, name + suffix));
    } catch {
      return undefined;
    }
  };
  const plain = read("");
  if (plain === undefined) return undefined;
  const [br, gzip] = [read(".br"), read(".gz")];
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  return { type, plain, packed: { ...(br && { br }), ...(gzip && { gzip }) } };
}

function send(c: HubRequest, asset: Asset, headers: Readonly<Record<string, string>>): Response {
  const accepted = c.req.header("accept-encoding") ?? "";
  const coding = (["br", "gzip"] as const).find(
    (name) => asset.packed[name] !== undefined && new RegExp(`\\b${name}\\b(?!;q=0)`).test(accepted),
  );
  const body = (coding && asset.packed[coding]) ?? asset.plain;
  return c.body(new Uint8Array(body), 200, {
    ...headers,
    "Content-Type": asset.type,
    Vary: "Accept-Encoding",
    ...(coding && { "Content-Encoding": coding }),
  });
}
