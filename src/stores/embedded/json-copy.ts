/** Values on their way into the file: what JSON cannot keep is refused with its path, never lost in silence. */
import { freezeJson, jsonBody } from "../../model/json.js";

export function jsonText(value: unknown): string {
  return jsonBody(value).text;
}

/** A frozen copy that shares nothing with the caller's. */
export function jsonCopy<T>(value: T): T {
  return jsonBody(value).value as T;
}

export function parseFrozen<T>(text: string): T {
  return freezeJson(JSON.parse(text) as T);
}
