/** Messages off the wire become frames, or one clear complaint. */
import { type ClientFrame, type Corr, MAX_ACKED, MAX_EXTEND_MS, MAX_MANY, MAX_TAKES } from "../protocol.js";

const MAX_CORR_CHARS = 200;

type Check = (frame: Record<string, unknown>) => string | null;

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const optional =
  (test: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || test(value);

/** What each frame must have; null if it is fine, else what is wrong in words. */
const CHECKS: { readonly [T in ClientFrame["type"]]: Check } = {
  AUTH: (f) => (isText(f.token) ? takes(f) : "AUTH needs a token"),
  PUBLISH: (f) =>
    !isText(f.topic) ? "PUBLISH needs a topic" : !("payload" in f) ? "PUBLISH needs a payload" : null,
  PUBLISH_MANY: (f) => (isText(f.topic) ? events(f.events) : "PUBLISH_MANY needs a topic"),
  SUBSCRIBE: (f) =>
    !(isText(f.topic) && isText(f.group))
      ? "SUBSCRIBE needs topic and group"
      : optional(isObject)(f.opts)
        ? null
        : "opts must be an object",
  UNSUBSCRIBE: (f) => (isText(f.topic) && isText(f.group) ? null : "UNSUBSCRIBE needs topic and group"),
  ACK: (f) => (f.ids !== undefined ? ids(f) : f.leases !== undefined ? leases(f) : byId(f)),
  NACK: (f) =>
    lease(f) ?? (optional((v) => typeof v === "string")(f.reason) ? null : "reason must be a string"),
  MODACK: (f) =>
    lease(f) ?? (isDuration(f.extend_ms) ? null : "extend_ms must be milliseconds above 0, an hour at most"),
  PAUSE: (f) => bothOrNeither(f),
  RESUME: (f) => bothOrNeither(f),
  PING: (f) => takes(f),
};

function bothOrNeither({ type, topic, group }: Record<string, unknown>): string | null {
  const isOfAll = topic === undefined && group === undefined;
  return isOfAll || (isText(topic) && isText(group))
    ? null
    : `${String(type)} takes topic and group, or neither`;
}

function events(given: unknown): string | null {
  const isList = Array.isArray(given) && given.length > 0 && given.length <= MAX_MANY;
  return isList && given.every((one) => isObject(one) && "payload" in one)
    ? null
    : `events are objects with a payload, 1 to ${MAX_MANY}`;
}

function takes(f: Record<string, unknown>): string | null {
  const names = f.takes;
  const isList = Array.isArray(names) && names.length <= MAX_TAKES && names.every(isText);
  return names === undefined || isList ? null : `takes is a list of texts, ${MAX_TAKES} at most`;
}

function ids(f: Record<string, unknown>): string | null {
  const given = f.ids;
  const isList = Array.isArray(given) && given.length > 0 && given.length <= MAX_ACKED && given.every(isText);
  return f.id === undefined && f.leases === undefined && isList
    ? byId(f, given)
    : `ids are texts, 1 to ${MAX_ACKED}, instead of an id`;
}

function leases(f: Record<string, unknown>): string | null {
  if (!(isText(f.topic) && isText(f.group))) return "ACK needs topic and group";
  return f.id === undefined && areRanges(f.leases)
    ? null
    : `leases are pairs of whole numbers, first and last, ${MAX_ACKED} leases at most, instead of an id`;
}

/** Looked at one by one only as long as they may be fine: a range can claim to be any size. */
function areRanges(given: unknown): boolean {
  if (!Array.isArray(given) || given.length === 0) return false;
  let count = 0;
  for (const range of given) {
    if (!(Array.isArray(range) && range.length === 2 && range.every(isNumber))) return false;
    const [first, last] = range as [number, number];
    count += last - first + 1;
    if (first > last || count > MAX_ACKED) return false;
  }
  return true;
}

function lease(f: Record<string, unknown>): string | null {
  if (f.lease === undefined) return byId(f);
  if (!(isText(f.topic) && isText(f.group))) return `${String(f.type)} needs topic and group`;
  return f.id === undefined && isNumber(f.lease)
    ? null
    : "a lease is a whole number above 0, instead of an id";
}

function byId(f: Record<string, unknown>, ids: readonly unknown[] = [f.id]): string | null {
  if (!(isText(f.topic) && isText(f.group) && isText(ids[0])))
    return `${String(f.type)} needs topic, group and id`;
  const numbers = optional(Number.isSafeInteger);
  return numbers(f.attempt) && numbers(f.epoch) ? null : "attempt and epoch must be whole numbers";
}

function isNumber(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isDuration(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value <= MAX_EXTEND_MS;
}

/** The frames of one message, or null if it is not JSON at all: then nothing after it can be trusted. */
export function parseMessage(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return null;
  }
}

/** A frame that is one, or a complaint to be answered. */
export function checkFrame(value: unknown): { frame: ClientFrame } | { complaint: string; corr?: Corr } {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { complaint: "a frame is a JSON object with a type" };
  const frame = value as Record<string, unknown>;
  const corr = corrOf(frame);
  const type = frame.type;
  if (typeof type !== "string" || !Object.hasOwn(CHECKS, type)) {
    return { complaint: `unknown frame type; known are ${Object.keys(CHECKS).join(", ")}`, ...corr };
  }
  if (!isCorr(frame.corr))
    return { complaint: `corr is a number, or a text of at most ${MAX_CORR_CHARS} characters` };
  const complaint = CHECKS[type as ClientFrame["type"]](frame);
  return complaint === null ? { frame: frame as unknown as ClientFrame } : { complaint, ...corr };
}

function corrOf(frame: Record<string, unknown>): { corr?: Corr } {
  const { corr } = frame;
  return corr !== undefined && isCorr(corr) ? { corr } : {};
}

/** It comes back in every answer. */
export function isCorr(value: unknown): value is Corr | undefined {
  return (
    value === undefined ||
    typeof value === "number" ||
    (typeof value === "string" && value.length <= MAX_CORR_CHARS)
  );
}
