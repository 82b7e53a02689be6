/**
 * The schemas of the working tree: what the project's own modules export. They are imported, that is run, so only
 * modules that are named are. Of each the exports count that are, or hold, registries, topic definitions and chains of
 * upcasts; they are told by what they can do, since the project may have its own copy of this package.
 */
import { existsSync } from "node:fs";
import { register } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { BusError } from "../../model/errors.js";
import type { TopicDefinition } from "../../model/topic.js";
import type { UpcastChain } from "../evolution/upcast.js";
import { isZodSchema, type SchemaInput } from "../reading/schema-input.js";
import type { SchemaSource } from "../registry/catalog.js";
import { SchemaRegistry } from "../registry/registry.js";
import type { SchemaVersion } from "../registry/schema-version.js";
import type { LintFinding } from "./finding.js";
import type { HookData } from "./module-hooks.js";
import { type Project, relativePath } from "./project.js";

type Listed = SchemaSource & { topics(): readonly string[] };
type Version = Pick<SchemaVersion, "topic" | "version" | "compat" | "schema" | "waive">;

/** The schema of a definition, which has no version. */
export interface UnversionedSchema {
  readonly topic: string;
  readonly schema: SchemaInput;
  readonly file: string;
}

export interface WorkingSchemas {
  /** Ascending by version within a topic. */
  readonly versions: readonly (Version & { readonly file: string })[];
  /** Of topics that no registry has. */
  readonly unversioned: readonly UnversionedSchema[];
  /** The registry that has the topic. */
  sourceOf(topic: string): SchemaSource | undefined;
  readonly upcasts: readonly UpcastChain[];
  readonly failures: readonly LintFinding[];
}

export interface ModuleLoading {
  readonly project: Project;
  /** Where the compiler was loaded from. */
  readonly typescript: string;
  readonly modules: readonly string[];
}

export async function loadSchemas(loading: ModuleLoading): Promise<WorkingSchemas> {
  const collected = new Collected();
  const failures: LintFinding[] = [];
  for (const path of loading.modules) {
    const full = resolve(loading.project.root, path);
    const file = relativePath(loading.project.root, full);
    if (!existsSync(full)) throw new BusError("NOT_FOUND", `there is no module ${path}`);
    try {
      hookLoader(loading);
      collected.addExports((await import(/* @vite-ignore */ pathToFileURL(full).href)) as object, file);
    } catch (error) {
      failures.push(loadFailure(file, BusError.from(error)));
    }
  }
  return Object.assign(collected, { failures });
}

/** A registry that refuses one of its versions says so while the module runs. */
function loadFailure(file: string, { message, code, details }: BusError): LintFinding {
  const { topic, version } = (details ?? {}) as { topic?: string; version?: number };
  return {
    rule: code === "SCHEMA_INCOMPATIBLE" ? "schema-incompatible" : "schema-load",
    message: code === "SCHEMA_INCOMPATIBLE" ? message : `${file} cannot be loaded: ${message}`,
    file,
    line: 1,
    column: 1,
    ...(topic !== undefined && { topic }),
    ...(version !== undefined && { version }),
  };
}

let hooked = false;

/** Once for the process, which is the lint's own or one that asked for it. */
function hookLoader({ project, typescript }: ModuleLoading): void {
  if (hooked) return;
  hooked = true;
  const hooks = new URL("./module-hooks.js", import.meta.url);
  // Run from the sources, under a loader that takes TypeScript already.
  if (!existsSync(hooks)) return;
  const data: HookData = { typescript, options: JSON.parse(JSON.stringify(project.options)) };
  register(hooks, { data });
}

class Collected {
  readonly versions: (Version & { file: string })[] = [];
  readonly upcasts: UpcastChain[] = [];
  readonly #sources = new Map<string, SchemaSource>();
  readonly #definitions = new Map<string, UnversionedSchema>();

  get unversioned(): readonly UnversionedSchema[] {
    return [...this.#definitions.values()].filter(({ topic }) => !this.#sources.has(topic));
  }

  sourceOf(topic: string): SchemaSource | undefined {
    return this.#sources.get(topic);
  }

  /** Exports, and what stands in exported lists and plain objects. */
  addExports(exports: object, file: string): void {
    for (const value of Object.values(exports)) {
      this.#add(value, file);
      if (isPlain(value)) for (const inner of Object.values(value)) this.#add(inner, file);
    }
  }

  #add(value: unknown, file: string): void {
    if (isRegistry(value)) this.#addRegistry(value, file);
    else if (isUpcastChain(value)) {
      if (!this.upcasts.includes(value)) this.upcasts.push(value);
    } else if (isDefinition(value) && isZodSchema(value.schema))
      this.#definitions.set(value.name, { topic: value.name, schema: value.schema, file });
  }

  #addRegistry(registry: Listed, file: string): void {
    for (const topic of registry.topics()) {
      if (this.#sources.has(topic)) continue;
      this.#sources.set(topic, registry);
      for (const each of registry.versions(topic)) {
        const { version, compat, schema, waive } = each;
        this.versions.push({ topic, version, compat, schema, waive, file });
      }
    }
  }
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

function can(value: unknown, ...methods: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  return methods.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
}

function isRegistry(value: unknown): value is Listed {
  return value instanceof SchemaRegistry || can(value, "topics", "versions", "validate", "current");
}

function isUpcastChain(value: unknown): value is UpcastChain {
  return can(value, "upcast", "missing");
}

function isDefinition(value: unknown): value is TopicDefinition {
  const { name, schema } = (value ?? {}) as { name?: unknown; schema?: unknown };
  return typeof value === "object" && typeof name === "string" && can(schema, "safeParse");
}
