/** Bodies off the wire, bounded (P13). */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { HubError } from "../problem.js";

/** The whole body; BODY_TOO_LARGE as soon as it has more than `maxBytes`. */
export function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  checkEncoding(incoming);
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const settle = (finish: () => void): void => {
      incoming.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      finish();
    };
    const onData = (part: Buffer): void => {
      bytes += part.length;
      parts.push(part);
      if (bytes <= maxBytes) return;
      settle(() => reject(tooLarge(maxBytes)));
      // The rest is let go by, so that the client can read the answer.
      incoming.resume();
    };
    const onEnd = (): void =>
      settle(() => resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)));
    const onClose = (): void => settle(() => reject(new HubError("BAD_REQUEST", "the body ended early")));
    incoming.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}

/** The body piece by piece; the next is read when it is asked for. */
export async function* bodyPieces(incoming: IncomingMessage): AsyncGenerator<Buffer> {
  checkEncoding(incoming);
  try {
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) yield piece as Buffer;
  } catch (error) {
    throw unreadable("the body ended early", error);
  }
}

export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new HubError("BAD_REQUEST", "the body is not UTF-8");
  return bytes.toString("utf8");
}

export function parseJson(bytes: Buffer): unknown {
  return parseText(textOf(bytes));
}

export function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadable("the body is not JSON", error);
  }
}

/** A content type without its parameters, in lower case. */
export function mediaType(header: string | undefined): string {
  return (header ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function checkEncoding(incoming: IncomingMessage): void {
  const encoding = incoming.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity")
    throw new HubError("UNSUPPORTED_MEDIA_TYPE", "bodies are taken without Content-Encoding only");
}

function unreadable(message: string, cause: unknown): HubError {
  return new HubError("BAD_REQUEST", message, { cause });
}

function tooLarge(maxBytes: number): HubError {
  return new HubError("BODY_TOO_LARGE", `the body has more than ${maxBytes} bytes`, {
    details: { maxBytes },
  });
}
