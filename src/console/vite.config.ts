/** The console's own build: hashed files into dist/console, nothing from elsewhere, each also packed for the wire. */
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import tailwind from "@tailwindcss/vite";
import { defineConfig, type Plugin } from "vite";

const PACKED = /\.(js|css|svg|html)$/;

/** Packs every file once, at build time, so that the hub only has to choose. */
function packed(): Plugin {
  return {
    name: "packed",
    enforce: "post",
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (!PACKED.test(file.fileName)) continue;
        const source = Buffer.from(file.type === "chunk" ? file.code : file.source);
        this.emitFile({
          type: "asset",
          fileName: `${file.fileName}.gz`,
          source: gzipSync(source, { level: 9 }),
        });
        const params = { [zlib.BROTLI_PARAM_QUALITY]: 11 };
        this.emitFile({
          type: "asset",
          fileName: `${file.fileName}.br`,
          source: brotliCompressSync(source, { params }),
        });
      }
    },
  };
}

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/",
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
