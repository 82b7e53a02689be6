/**
 * Publishing against schemas: each payload is checked, stripped of members that its schema leaves out, and stamped
 * with the version it was checked against. A layer around publishing; it knows of a bus only that it can carry one.
 */
import { BusError } from "../../model/errors.js";
import type { PublishedRecord, PublishOptions } from "../../model/event-bus.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Meters, ValidationOutcome } from "../../model/meter.js";
import { matchesTopic } from "../../model/topic.js";
import type { Registry } from "../../ports/registry.js";
import { checkSource, type SchemaSource } from "./catalog.js";
import { compactedIn, Tombstones } from "./tombstones.js";
import { headerVersion, SCHEMA_VERSION_HEADER, schemaTopic } from "./versioned-topic.js";

export interface PublishRequest {
  readonly topic: string;
  readonly payload: unknown;
  readonly options: PublishOptions;
}

export type PublishNext = (request: PublishRequest) => Promise<PublishedRecord>;

/** Something around publishing; `next` goes on. */
export interface PublishLayer {
  publish(request: PublishRequest, next: PublishNext): Promise<PublishedRecord>;
}

/** A bus that can be given a layer: the answer is the bus with it. */
export interface Layerable<B> {
  with(layer: PublishLayer): B;
  /** Told of counts per version. */
  readonly meters?: Pick<Meters, "active" | "validated">;
  /** Asked which topics are compacted. */
  readonly store?: { readonly registry: Pick<Registry, "topic"> };
}

/** What happens to a payload that does not fit: it is refused, published after a warning, or not looked at. */
export type Enforcement = "reject" | "warn" | "off";

/** What became of one publish that was checked. */
export interface SchemaObservation {
  readonly topic: string;
  /** Absent: the topic has no schema, or it is not looked at. */
  readonly version?: number;
  readonly outcome: ValidationOutcome;
  readonly error?: BusError;
}

/** What happens to payloads that do not fit, and which version publishers write. */
export interface ValidationOptions {
  /** Default "reject". */
  readonly enforce?: Enforcement;
  /** By topic or pattern (`orders.*`); the first that fits counts, before `enforce`. */
  readonly topics?: Readonly<Record<string, Enforcement>>;
  /** The version that publishers write, by topic. Default: the newest that this process declared. */
  readonly versions?: Readonly<Record<string, number>>;
  /** Refuses topics that have no schema. Default false. */
  readonly strict?: boolean;
  /** Whether `null` is a tombstone in the topic: nothing to check. Default: if the bus's store compacts the topic. */
  readonly tombstones?: (topic: string) => boolean | Promise<boolean>;
  /** Told of every publish: for warnings, and for counts per version. */
  readonly observe?: (observation: SchemaObservation) => void;
}

const OPTIONS = namesOf<ValidationOptions>({
  enforce: true,
  topics: true,
  versions: true,
  strict: true,
  tombstones: true,
  observe: true,
});
const ENFORCEMENTS: readonly unknown[] = ["reject", "warn", "off"] satisfies Enforcement[];

/**
 * The bus with payloads checked when they are published. A payload that does not fit fails with SCHEMA_VIOLATION and
 * is not published. The header `x-schema-version` names the version; a publisher that sets it chooses the version.
 *
 * @example
 * const checked = withSchemaValidation(bus, reg, { topics: { "legacy.**": "warn" } });
 */
export function withSchemaValidation<B>(
  bus: Layerable<B>,
  schemas: SchemaSource,
  options: ValidationOptions = {},
): B {
  checkSource("withSchemaValidation", schemas);
  checkOptions(options);
  const { meters, store } = bus;
  const { observe, tombstones = compactedIn(store?.registry) } = options;
  const told = (observation: SchemaObservation): void => {
    observe?.(observation);
    if (meters?.active) meters.validated(observation.topic, observation.version, observation.outcome);
  };
  const isWatched = (): boolean => observe !== undefined || meters?.active === true;
  return bus.with(validationLayer(schemas, { ...options, tombstones, observe: told }, isWatched));
}

/** What is misspelt would count as not given, and payloads be checked otherwise than was meant. */
function checkOptions(options: ValidationOptions): void {
  checkOptionNames("withSchemaValidation", options, OPTIONS);
  const { enforce = "reject", topics = {}, strict = false } = options;
  const refused = [enforce, ...Object.values(topics)].find((each) => !ENFORCEMENTS.includes(each));
  if (refused !== undefined)
    throw new BusError(
      "INVALID_OPTION",
      `enforce, and each of topics, is "reject", "warn" or "off", not ${JSON.stringify(refused)}`,
    );
  if (typeof strict !== "boolean") throw new BusError("INVALID_OPTION", "strict must be true or false");
}

/** `isWatched`: whether there is anybody to tell. */
export function validationLayer(
  schemas: SchemaSource,
  options: ValidationOptions = {},
  isWatched = (): boolean => options.observe !== undefined,
): PublishLayer {
  const { enforce: usual = "reject", observe } = options;
  const exceptions = Object.entries(options.topics ?? {});
  const enforcementOf = (topic: string): Enforcement =>
    exceptions.find(([pattern]) => matchesTopic(pattern, topic))?.[1] ?? usual;
  const tombstones = new Tombstones(options.tombstones);
  const goOn = (request: PublishRequest, next: PublishNext, tombstone: boolean): Promise<PublishedRecord> => {
    const { topic } = request;
    const enforce = exceptions.length === 0 ? usual : enforcementOf(topic);
    if (enforce === "off" || tombstone) {
      if (isWatched()) observe?.({ topic, outcome: "unchecked" });
      return next(request);
    }
    const checked = checkRequest(request, schemas, options);
    if (isWatched()) observe?.({ topic, ...observationOf(checked, enforce) });
    if (checked.error !== undefined && enforce === "reject") return Promise.reject(checked.error);
    return next(checked.request);
  };
  return {
    // Everything up to `next` is done at once, unless it must be asked: publishes keep the order of their calls.
    publish(request, next) {
      const asked = tombstones.question(request);
      if (asked === undefined) return goOn(request, next, tombstones.isKnown(request));
      const answered = (tombstone: boolean): Promise<PublishedRecord> => {
        asked.leave();
        return goOn(request, next, tombstone);
      };
      const failed = (error: unknown): Promise<never> => {
        asked.leave();
        return Promise.reject(error);
      };
      return asked.answer.then(answered, failed);
    },
  };
}

function observationOf({ version, error }: Checked, enforce: Enforcement): Omit<SchemaObservation, "topic"> {
  if (error !== undefined) return { outcome: enforce === "warn" ? "warned" : "rejected", error };
  return version === undefined ? { outcome: "unchecked" } : { outcome: "valid", version };
}

/** What goes on to be published, in which version, or what is wrong with it. */
interface Checked {
  readonly request: PublishRequest;
  readonly version?: number;
  readonly error?: BusError;
}

function checkRequest(request: PublishRequest, schemas: SchemaSource, options: ValidationOptions): Checked {
  try {
    return validated(request, schemas, options);
  } catch (error) {
    return { request, error: BusError.from(error) };
  }
}

/** What every object has ("constructor") is no version of a topic of that name. */
function versionIn(versions: ValidationOptions["versions"], topic: string): number | undefined {
  return versions !== undefined && Object.hasOwn(versions, topic) ? versions[topic] : undefined;
}

function validated(request: PublishRequest, schemas: SchemaSource, o: ValidationOptions): Checked {
  const { topic, payload, options } = request;
  const source = schemaTopic(topic, schemas);
  if (source === undefined) {
    if (o.strict !== true) return { request };
    throw new BusError(
      "SCHEMA_VIOLATION",
      `"${topic}" has no schema, and only topics with one may be published to`,
      {
        details: { topic },
      },
    );
  }
  const chosen =
    headerVersion(options.headers, `an event for "${topic}"`) ??
    source.version ??
    versionIn(o.versions, topic);
  const result = schemas.validate(source.topic, payload, chosen);
  if (result === undefined) return { request };
  // Not `{ ...options, headers }`: at every publish, a spread that comes first costs more than the check itself.
  const stampedOptions: { headers?: PublishOptions["headers"] } = Object.assign({}, options);
  stampedOptions.headers = stamped(options.headers, result.version);
  return {
    request: { topic, payload: result.payload, options: stampedOptions as PublishOptions },
    version: result.version,
  };
}

const stamps = new Map<number, Readonly<Record<string, string>>>();

/** Most events carry the version alone: they share one object, which spares a copy of it for each. */
function stamped(headers: PublishOptions["headers"], version: number): Readonly<Record<string, string>> {
  if (headers !== undefined) return { ...headers, [SCHEMA_VERSION_HEADER]: String(version) };
  let stamp = stamps.get(version);
  if (stamp === undefined) {
    stamp = Object.freeze({ [SCHEMA_VERSION_HEADER]: String(version) });
    stamps.set(version, stamp);
  }
  return stamp;
}
