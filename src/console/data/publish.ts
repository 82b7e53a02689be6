/**
 * Publishing by hand. An event has its id before it is sent: when the answer was lost, or what had to follow failed, and one tries
 * again, it is stored once (P3).
 */
import { useRef } from "preact/hooks";
import { call } from "./api.js";

export interface Published {
  readonly id: string;
  readonly partition: number;
  readonly seq: number;
}

export function usePublish(): (event: object) => Promise<Published> {
  const last = useRef({ text: "", id: "" });
  return (event) => {
    const text = JSON.stringify(event);
    if (last.current.text !== text) last.current = { text, id: newId(Date.now()) };
    return call<Published>("/publish", { body: { ...event, id: last.current.id } });
  };
}

/** A UUIDv7. `crypto.randomUUID` is there in secure contexts alone. */
export function newId(nowMs: number): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  const hex = [...random].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const time = nowMs.toString(16).padStart(12, "0");
  const variant = (8 + ((random[2] ?? 0) & 3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${variant}${hex.slice(5, 8)}-${hex.slice(8)}`;
}
