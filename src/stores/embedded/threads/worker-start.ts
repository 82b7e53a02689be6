/**
 * Starts the threads of the store. A thread needs plain JavaScript: the built package has it beside this file. Run from
 * the TypeScript sources (tests do), the sources of the thread are compiled first, so that what runs is never older
 * than what is written.
 */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { BusError } from "../../../model/errors.js";

export async function startWorker(
  name: "writer-worker" | "reader-worker",
  workerData: unknown,
): Promise<Worker> {
  const here = import.meta.url;
  const entry = here.endsWith(".ts") ? await compiled(name, here) : new URL(`./${name}.js`, here);
  if (!existsSync(entry))
    throw new BusError(
      "UNSUPPORTED",
      "the embedded store cannot be put into a bundle, since its threads are files of the package: leave promethean out of it (esbuild: --packages=external)",
    );
  // What the main thread was started with (loaders, inspectors, test runners) is not for this one.
  return new Worker(entry, { name: `promethean ${name}`, workerData, execArgv: [], stderr: false });
}

async function compiled(name: string, here: string): Promise<URL> {
  const compiler = new URL("../../../../scripts/embedded-sources.mjs", here).href;
  const { compileModule } = (await import(/* @vite-ignore */ compiler)) as {
    compileModule: (source: URL) => Promise<URL>;
  };
  return compileModule(new URL(`./${name}.ts`, here));
}
