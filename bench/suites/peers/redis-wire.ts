/** As much of Redis' protocol as the benchmark needs: commands in a pipeline, answers in their order. */
import { Wire } from "./wire.js";

export type Answer = string | number | null | readonly Answer[];

/** Where reading has come to; undefined if the answer is not there to its end. */
type Read = { readonly answer: Answer; readonly at: number } | undefined;

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export class RedisWire {
  readonly #waiting: Waiting[] = [];
  #first = 0;
  #wire: Wire | undefined;

  static async open(port: number): Promise<RedisWire> {
    const redis = new RedisWire();
    redis.#wire = await Wire.open(port, (bytes) => redis.#take(bytes));
    return redis;
  }

  send(...words: readonly string[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      let text = `*${words.length}\r\n`;
      for (const word of words) text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
      this.#wire?.write(text);
    });
  }

  /** What is not answered yet is answered with null. */
  close(): void {
    this.#wire?.close();
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.resolve(null);
  }

  #take(bytes: Buffer): number {
    let at = 0;
    for (;;) {
      if (bytes[at] === MINUS) {
        const end = bytes.indexOf("\r\n", at);
        if (end < 0) return at;
        this.#next()?.reject(new Error(`redis: ${bytes.toString("utf8", at + 1, end)}`));
        at = end + 2;
        continue;
      }
      const read = readAnswer(bytes, at);
      if (read === undefined) return at;
      this.#next()?.resolve(read.answer);
      at = read.at;
    }
  }

  /** A moving start instead of a shift, which costs more the longer the pipeline is. */
  #next(): Waiting | undefined {
    const next = this.#waiting[this.#first++];
    if (this.#first === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#first = 0;
    }
    return next;
  }
}

const MINUS = 45;
const PLUS = 43;
const COLON = 58;
const DOLLAR = 36;

function readAnswer(bytes: Buffer, at: number): Read {
  const end = bytes.indexOf("\r\n", at);
  if (end < 0) return undefined;
  const line = bytes.toString("utf8", at + 1, end);
  const next = end + 2;
  if (bytes[at] === PLUS) return { answer: line, at: next };
  if (bytes[at] === COLON) return { answer: Number(line), at: next };
  const size = Number(line);
  if (size < 0) return { answer: null, at: next };
  if (bytes[at] !== DOLLAR) return readArray(bytes, next, size);
  if (bytes.length < next + size + 2) return undefined;
  return { answer: bytes.toString("utf8", next, next + size), at: next + size + 2 };
}

function readArray(bytes: Buffer, from: number, size: number): Read {
  const answers: Answer[] = [];
  let at = from;
  while (answers.length < size) {
    const read = readAnswer(bytes, at);
    if (read === undefined) return undefined;
    answers.push(read.answer);
    at = read.at;
  }
  return { answer: answers, at };
}
