/** Messages off the wire become frames, or one clear complaint. */
import { type ClientFrame, type Corr, MAX_ACKED_IDS } from "./protocol.js";

type Check = (frame: Record<string, unknown>) => string | null;

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const optional =
  (test: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || test(value);

/** What each frame must have; null if it is fine, else what is wrong in words. */
const CHECKS: { readonly [T in ClientFrame["type"]]: Check } = {
  AUTH: (f) => (isText(f.token) ? null : "AUTH needs a token"),
  PUBLISH: (f) =>
    !isText(f.topic) ? "PUBLISH needs a topic" : !("payload" in f) ? "PUBLISH needs a payload" : null,
  SUBSCRIBE: (f) =>
    !(isText(f.topic) && isText(f.group))
      ? "SUBSCRIBE needs topic and group"
      : optional((v) => typeof v === "object" && v !== null && !Array.isArray(v))(f.opts)
        ? null
        : "opts must be an object",
  UNSUBSCRIBE: (f) => (isText(f.topic) && isText(f.group) ? null : "UNSUBSCRIBE needs topic and group"),
  ACK: (f) => (f.ids === undefined ? lease(f) : leases(f)),
  NACK: (f) =>
    lease(f) ?? (optional((v) => typeof v === "string")(f.reason) ? null : "reason must be a string"),
  MODACK: (f) =>
    lease(f) ?? (isDuration(f.extend_ms) ? null : "extend_ms must be milliseconds above 0, an hour at most"),
  PAUSE: (f) =>
    f.topic === undefined || (isText(f.topic) && isText(f.group))
      ? null
      : "PAUSE takes topic and group, or neither",
  RESUME: (f) =>
    f.topic === undefined || (isText(f.topic) && isText(f.group))
      ? null
      : "RESUME takes topic and group, or neither",
  PING: () => null,
};

function leases(f: Record<string, unknown>): string | null {
  const { id, ids } = f;
  const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= MAX_ACKED_IDS && ids.every(isText);
  return id === undefined && isList
    ? lease(f, ids)
    : `ids are texts, 1 to ${MAX_ACKED_IDS}, instead of an id`;
}

function lease(f: Record<string, unknown>, ids: readonly unknown[] = [f.id]): string | null {
  if (!(isText(f.topic) && isText(f.group) && isText(ids[0])))
    return `${String(f.type)} needs topic, group and id`;
  const numbers = optional(Number.isSafeInteger);
  return numbers(f.attempt) && numbers(f.epoch) ? null : "attempt and epoch must be whole numbers";
}

function isDuration(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value <= 3_600_000;
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
  const complaint = CHECKS[type as ClientFrame["type"]](frame);
  return complaint === null ? { frame: frame as unknown as ClientFrame } : { complaint, ...corr };
}

function corrOf(frame: Record<string, unknown>): { corr?: Corr } {
  const { corr } = frame;
  return typeof corr === "number" || (typeof corr === "string" && corr.length <= 200) ? { corr } : {};
}
