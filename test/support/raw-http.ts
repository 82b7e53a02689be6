/** HTTP/1.1 over a plain socket, byte by byte as the test wants it. */
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export class RawConnection {
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #wake: (() => void) | null = null;
  #closed = false;

  static async to(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
    const connection = new RawConnection(socket);
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return connection;
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#wake?.();
    });
    const over = (): void => {
      this.#closed = true;
      this.#wake?.();
    };
    socket.on("end", over).on("close", over).on("error", over);
  }

  /** Resolves when the operating system has it: what is written afterwards goes into another packet. */
  write(bytes: string | Uint8Array): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => this.#socket.write(bytes, () => setImmediate(resolve)));
  }

  /** Writes no more; reads on. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The next answer; null if the other side ended instead. */
  async next(): Promise<RawAnswer | null> {
    for (;;) {
      const answer = this.#take();
      if (answer !== null || this.#closed) return answer;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Resolves when the other side has ended it. */
  async ended(): Promise<void> {
    while (!this.#closed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  #take(): RawAnswer | null {
    const headEnd = this.#bytes.indexOf("\r\n\r\n");
    if (headEnd < 0) return null;
    const [line = "", ...lines] = this.#bytes.toString("latin1", 0, headEnd).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((one) => [one.slice(0, one.indexOf(":")).toLowerCase(), one.slice(one.indexOf(":") + 2)]),
    );
    const end = headEnd + 4 + Number(headers["content-length"] ?? 0);
    if (this.#bytes.length < end) return null;
    const body = this.#bytes.toString("utf8", headEnd + 4, end);
    this.#bytes = this.#bytes.subarray(end);
    return { status: Number(line.split(" ")[1]), headers, body };
  }
}

/** The bytes of a request; headers of the same name may be given twice. */
export function requestBytes(
  path: string,
  headers: readonly (readonly [string, string])[],
  body: string | Uint8Array,
  method = "POST",
): Buffer {
  const bytes = Buffer.from(body);
  const given = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name.trim()));
  const lines = [
    ...(headers.some(([name]) => name.toLowerCase() === "host") ? [] : [["Host", "hub"] as const]),
    ...headers,
    ...(given ? [] : [["Content-Length", String(bytes.length)] as const]),
  ].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"), bytes]);
}
