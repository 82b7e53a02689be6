/** What a session asks its shell to do, and the answers it gives. */
import type { HubCode } from "../problem.js";
import type {
  AckFrame,
  AckLeasesFrame,
  AckManyFrame,
  Corr,
  ErrFrame,
  ModackFrame,
  NackFrame,
  PublishFrame,
  PublishManyFrame,
  SubscribeFrame,
} from "../protocol.js";

const COME_BACK_MS = 1_000;
const TRY_LATER_MS = 1_000;

export type SettleFrame = AckFrame | AckManyFrame | AckLeasesFrame | NackFrame;

export type SessionEffect =
  | { readonly type: "send"; readonly frame: object }
  | { readonly type: "authenticate"; readonly token: string; readonly corr?: Corr }
  | { readonly type: "expireAt"; readonly atMs: number }
  | { readonly type: "publish"; readonly frame: PublishFrame; readonly text?: string | undefined }
  | { readonly type: "publishMany"; readonly frame: PublishManyFrame }
  | { readonly type: "subscribe"; readonly key: string; readonly frame: SubscribeFrame }
  | { readonly type: "unsubscribe"; readonly key: string; readonly corr?: Corr }
  | { readonly type: "settle"; readonly key: string; readonly frame: SettleFrame }
  | { readonly type: "extend"; readonly key: string; readonly frame: ModackFrame }
  | {
      readonly type: "pause";
      readonly keys: readonly string[];
      readonly paused: boolean;
      readonly corr?: Corr;
      /** Of the answer. */
      readonly result?: object;
    }
  | { readonly type: "close"; readonly code: number; readonly reason: string };

export function goingDown(corr: Corr | undefined): SessionEffect {
  const frame = errFrame("CLOSED", "the hub is going down; connect again", corr);
  return { type: "send", frame: { ...frame, retry_after_ms: COME_BACK_MS } };
}

export function tryLater(msg: string, corr: Corr | undefined): SessionEffect {
  const frame = errFrame("STORE_UNAVAILABLE", msg, corr);
  return { type: "send", frame: { ...frame, retry_after_ms: TRY_LATER_MS } };
}

export function ok(corr: Corr | undefined, result?: unknown): SessionEffect {
  return { type: "send", frame: { type: "OK", ...withCorr(corr), ...(result !== undefined && { result }) } };
}

export function forbidden(what: string, topic: string, corr: Corr | undefined): SessionEffect {
  return err("FORBIDDEN", `this token may not ${what} ${topic}`, corr);
}

export function err(code: HubCode, msg: string, corr: Corr | undefined): SessionEffect {
  return { type: "send", frame: errFrame(code, msg, corr) };
}

export function errFrame(code: HubCode, msg: string, corr: Corr | undefined): ErrFrame {
  return { type: "ERR", code, msg, ...withCorr(corr) };
}

export function withCorr(corr: Corr | undefined): { corr?: Corr } {
  return corr === undefined ? {} : { corr };
}
