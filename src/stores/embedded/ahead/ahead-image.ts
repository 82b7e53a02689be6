/** The bytes of the file ahead as its two threads share them: the event loop's writes them, the writing thread reads them. */

export const AHEAD_BYTES = 1_048_576;
const WASM_PAGE_BYTES = 65_536;

type WasmMemory = new (options: {
  readonly initial: number;
  readonly maximum: number;
  readonly shared: true;
}) => { readonly buffer: SharedArrayBuffer };

/** Zeros. A module's memory begins with a page, which no other memory does for certain; a process may have been told to know no modules. */
export function newImage(): SharedArrayBuffer {
  const { WebAssembly } = globalThis as { readonly WebAssembly?: { readonly Memory: WasmMemory } };
  if (WebAssembly === undefined) return new SharedArrayBuffer(AHEAD_BYTES);
  const pages = AHEAD_BYTES / WASM_PAGE_BYTES;
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }).buffer;
}
