/** Schemas: every version with how it follows from the one before, verdicts between versions, and new ones. */
import { z } from "@hono/zod-openapi";
import { mapInTurns } from "../../model/map-in-turns.js";
import { checkTopicName } from "../../model/topic.js";
import type { SchemaEntry } from "../../ports/registry.js";
import { type CompatMode, type CompatReport, checkTrees } from "../../schema/compare/compatibility.js";
import { normalize } from "../../schema/reading/normalize.js";
import { checkSchemaInput, type JsonSchema } from "../../schema/reading/schema-input.js";
import { SchemaVersion } from "../../schema/registry/schema-version.js";
import { StoredSchemaRegistry } from "../../schema/registry/stored-registry.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { addRoute, demand, type HubApp, type HubRequest } from "./base.js";

const Mode = z.enum(["none", "backward", "forward", "full"]);
const Topic = z.object({ topic: z.string() });
const Version = z.coerce.number().int().min(1);
const AnySchema = z.union([z.boolean(), z.looseObject({})]);
const tag = "schemas";

export function schemaRoutes(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/schemas/{topic}",
      tag,
      summary: "The versions of a topic's schema, each with its verdict against the one before",
      rights: "read:<topic>",
      params: Topic,
    },
    async (c, { params }) => {
      const versions = await versionsOf(c, hub, params.topic);
      return c.json({
        topic: params.topic,
        latest: versions.at(-1)?.entry.version ?? null,
        compat: versions.at(-1)?.entry.compat ?? null,
        // Each is held against the one before, in a turn of its own.
        versions: await mapInTurns(
          [...versions.entries()],
          async ([i, one]) => described(one, versions[i - 1]),
          1,
        ),
      } as object);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/schemas/{topic}/compat",
      tag,
      summary: "Whether two versions go together, with the places where they do not",
      rights: "read:<topic>",
      params: Topic,
      query: z.object({ from: Version, to: Version, mode: Mode.optional() }),
    },
    async (c, { params, query }) => {
      const versions = await versionsOf(c, hub, params.topic);
      const find = (version: number): Known => {
        const found = versions.find(({ entry }) => entry.version === version);
        if (found !== undefined) return found;
        throw new HubError("NOT_FOUND", `${params.topic} has no version ${version} of its schema`);
      };
      const [older, newer] = [find(query.from), find(query.to)];
      const report = checkTrees(
        older.parsed.tree,
        newer.parsed.tree,
        query.mode ?? modeOf(newer.entry.compat),
      );
      return c.json({ topic: params.topic, from: query.from, to: query.to, ...report } as object);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/schemas/{topic}/check",
      tag,
      summary: "Whether a JSON Schema could follow the newest version; nothing is stored",
      rights: "read:<topic>",
      params: Topic,
      body: z.strictObject({ schema: AnySchema, mode: Mode.optional() }),
    },
    async (c, { params, body }) => {
      const latest = (await versionsOf(c, hub, params.topic)).at(-1);
      if (latest === undefined)
        return c.json({ topic: params.topic, latest: null, ...UNRESTRICTED } as object);
      checkSchemaInput(body.schema);
      const mode = body.mode ?? modeOf(latest.entry.compat);
      const report = checkTrees(latest.parsed.tree, normalize(body.schema as JsonSchema), mode);
      return c.json({ topic: params.topic, latest: latest.entry.version, ...report } as object);
    },
  );
  registerRoute(app, hub);
}

const UNRESTRICTED: CompatReport = { mode: "none", verdict: "compatible", findings: [], objects: [] };

function registerRoute(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/schemas/{topic}",
      tag,
      summary: "Registers a version, if it is compatible",
      rights: "ops:schema and read:<topic>",
      params: Topic,
      body: z.strictObject({
        version: z.number().int().min(1),
        schema: AnySchema,
        compat: z.string().optional(),
        waive: z.string().min(1).max(1_000).optional(),
      }),
    },
    async (c, { params, body }) => {
      demand(c, "ops", "schema");
      checkTopicName(params.topic);
      demand(c, "read", params.topic);
      const { version, schema, compat, waive } = body;
      checkSchemaInput(schema);
      const { bus } = hub;
      const registry = await StoredSchemaRegistry.open(bus.store.registry, { clock: bus.clock });
      const stored = await registry.register({
        topic: params.topic,
        version,
        schema: schema as JsonSchema,
        ...(compat !== undefined && { compat: compat as SchemaVersion["compat"] }),
        ...(waive !== undefined && { waive }),
      });
      await bus.store.registry.audit({
        atMs: bus.clock.now(),
        actor: c.get("caller").subject,
        action: "schema.register",
        target: params.topic,
        details: { version: stored.version, compat: stored.compat, ...(waive !== undefined && { waive }) },
      });
      return c.json({ topic: params.topic, version: stored.version, compat: stored.compat });
    },
  );
}

interface Known {
  readonly entry: SchemaEntry;
  readonly parsed: SchemaVersion;
}

/** A schema may be there before its topic is: the name decides who may see it. */
async function versionsOf(c: HubRequest, hub: HubContext, topic: string): Promise<Known[]> {
  checkTopicName(topic);
  demand(c, "read", topic);
  const entries = await hub.bus.store.registry.schemas(topic);
  return entries.map((entry) => ({ entry, parsed: SchemaVersion.fromEntry(entry) }));
}

function described({ entry, parsed }: Known, before: Known | undefined): object {
  const { version, compat, createdMs } = entry;
  return {
    version,
    compat,
    createdMs,
    schema: parsed.jsonSchema,
    ...(parsed.waive !== undefined && { waive: parsed.waive }),
    follows: before === undefined ? null : checkTrees(before.parsed.tree, parsed.tree, modeOf(compat)),
  };
}

function modeOf(compat: string): CompatMode {
  return compat.replace("-transitive", "") as CompatMode;
}
