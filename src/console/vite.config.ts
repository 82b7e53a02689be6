/** The console's own build: hashed files into dist/console, nothing from elsewhere, each also packed for the wire. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import tailwind from "@tailwindcss/vite";
import { defineConfig, type Plugin } from "vite";

const PACKED = /\.(js|css|svg|html)$/;

/** Packs every file once, as it was written, so that the hub only has to choose. */
function packed(): Plugin {
  return {
    name: "packed",
    writeBundle({ dir = "" }, bundle) {
      for (const { fileName } of Object.values(bundle)) {
        if (!PACKED.test(fileName)) continue;
        const path = join(dir, fileName);
        const source = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(source, { level: 9 }));
        const params = { [zlib.BROTLI_PARAM_QUALITY]: 11 };
        writeFileSync(`${path}.br`, brotliCompressSync(source, { params }));
      }
    },
  };
}

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  publicDir: false,
  plugins: [tailwind(), packed()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../../dist/console", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
