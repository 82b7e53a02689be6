/** The suites there are, loaded only when asked for: some start servers. */
import { existsSync } from "node:fs";
import type { Suite } from "./suite.js";

/** In the order in which `all` runs them. */
const NAMES = ["core", "embedded", "mongo", "hub", "project", "schema", "peers", "scaling", "startup"];

const moduleOf = (name: string): URL => new URL(`./suites/${name}.js`, import.meta.url);

export function suiteNames(): string[] {
  return NAMES.filter((name) => existsSync(moduleOf(name)));
}

export async function loadSuite(name: string): Promise<Suite> {
  const { suite } = (await import(moduleOf(name).href)) as { readonly suite: Suite };
  return suite;
}
