/** Bodies off the wire, bounded (P13). */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { HubError } from "../problem.js";

/** A body that is read as a whole may take so long, and one that is read piece by piece may be silent for so long. */
const PATIENCE_MS = 300_000;

/** Who waits for a body. Exactly one of the two is called, once. */
export interface BodyReader {
  received(bytes: Buffer): void;
  failed(error: HubError): void;
}

/** The whole body; BODY_TOO_LARGE as soon as it has more than `maxBytes`. */
export function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((received, failed) => receiveBody(incoming, maxBytes, { received, failed }));
}

/** As readBody, without a promise: for those who take many. */
export function receiveBody(incoming: IncomingMessage, maxBytes: number, reader: BodyReader): void {
  const refused = unreadableEncoding(incoming) ?? declaredTooLarge(incoming, maxBytes);
  if (refused !== undefined) {
    reader.failed(refused);
    return;
  }
  let parts: Buffer[] | null = [];
  let bytes = 0;
  const fail = (error: () => HubError): void => {
    if (parts === null) return;
    parts = null;
    reader.failed(error());
  };
  incoming.on("data", (part: Buffer) => {
    bytes += part.length;
    // Beyond the limit the rest is let go by, so that the client can read the answer.
    if (bytes > maxBytes) fail(() => tooLarge(maxBytes));
    else parts?.push(part);
  });
  incoming.on("end", () => {
    clearTimeout(cutOff);
    if (parts === null) return;
    const whole = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    parts = null;
    reader.received(whole);
  });
  const cutOff = setTimeout(() => incoming.destroy(), PATIENCE_MS);
  // Also closed after its end: then there is nothing to say.
  const early = (): void => {
    clearTimeout(cutOff);
    fail(endedEarly);
  };
  incoming.on("close", early).on("error", early);
}

/** The body piece by piece; the next is read when it is asked for. A client that then sends nothing for too long is cut off. */
export async function* bodyPieces(
  incoming: IncomingMessage,
  patienceMs = PATIENCE_MS,
): AsyncGenerator<Buffer> {
  const refused = unreadableEncoding(incoming);
  if (refused !== undefined) throw refused;
  const pieces = incoming.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const cutOff = setTimeout(() => incoming.destroy(), patienceMs);
      const { value, done } = await pieces.next().finally(() => clearTimeout(cutOff));
      if (done) return;
      yield value as Buffer;
    }
  } catch (error) {
    throw unreadable("the body ended early", error);
  } finally {
    await pieces.return?.();
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

function unreadableEncoding(incoming: IncomingMessage): HubError | undefined {
  const encoding = incoming.headers["content-encoding"] ?? "identity";
  if (encoding.toLowerCase() === "identity") return undefined;
  return new HubError("UNSUPPORTED_MEDIA_TYPE", "bodies are taken without Content-Encoding only");
}

function declaredTooLarge(incoming: IncomingMessage, maxBytes: number): HubError | undefined {
  return Number(incoming.headers["content-length"] ?? 0) > maxBytes ? tooLarge(maxBytes) : undefined;
}

function unreadable(message: string, cause: unknown): HubError {
  return new HubError("BAD_REQUEST", message, { cause });
}

function endedEarly(): HubError {
  return new HubError("BAD_REQUEST", "the body ended early");
}

function tooLarge(maxBytes: number): HubError {
  return new HubError("BODY_TOO_LARGE", `the body has more than ${maxBytes} bytes`, {
    details: { maxBytes },
  });
}
