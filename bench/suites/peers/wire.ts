/** A socket that sends what was written in one turn at once, and hands on what came as one buffer with its rest. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export class Wire {
  readonly #socket: Socket;
  #out = "";
  #in: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
  }

  /** `read` gets what has not been taken yet and tells how many bytes it took. */
  static async open(port: number, read: (bytes: Buffer) => number): Promise<Wire> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    const wire = new Wire(socket);
    socket.on("data", (bytes: Buffer) => {
      wire.#in = wire.#in.length === 0 ? bytes : Buffer.concat([wire.#in, bytes]);
      wire.#in = wire.#in.subarray(read(wire.#in));
    });
    return wire;
  }

  write(text: string): void {
    if (this.#out === "") process.nextTick(() => this.#flush());
    this.#out += text;
  }

  close(): void {
    this.#socket.destroy();
  }

  #flush(): void {
    this.#socket.write(this.#out);
    this.#out = "";
  }
}
