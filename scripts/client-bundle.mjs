/**
 * Builds promethean/client as a browser application would, and says how large it is: `node scripts/client-bundle.mjs`.
 * Fails above 12 kB, compressed.
 */
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const MAX_BYTES = 12_000;

/** The whole bundle as text. */
export async function clientBundle() {
  const entry = fileURLToPath(new URL("../src/client/browser.ts", import.meta.url));
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      minify: true,
      target: "es2022",
      lib: { entry, formats: ["es"], fileName: "client" },
    },
  });
  const { output } = Array.isArray(built) ? built[0] : built;
  return output.map((chunk) => ("code" in chunk ? chunk.code : "")).join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const code = await clientBundle();
  const bytes = gzipSync(code, { level: 9 }).length;
  console.log(`promethean/client: ${code.length} bytes, ${bytes} compressed (at most ${MAX_BYTES})`);
  process.exitCode = bytes <= MAX_BYTES ? 0 : 1;
}
