/**
 * A change stream that is kept open: after an error it goes on from where it was, with growing waits; if the server no
 * longer knows that point, or ended the stream since what it is about was dropped or renamed, it begins anew and says that
 * something was missed. A server that has no change streams, or a user who may not open one, ends it for good, and the
 * caller falls back to polling.
 */
import type { ChangeStream, Document, ResumeToken } from "mongodb";
import { isMongo } from "../connection/driver-kinds.js";
import { busError } from "../connection/errors.js";

export interface ChangeLoopOptions {
  readonly open: (resumeAfter: ResumeToken | undefined) => ChangeStream<Document, Document>;
  readonly onChange: (change: Document) => void;
  /** Changes may have been missed: at the beginning, and after an interruption. */
  readonly onGap: () => void;
  /** There will be no changes; why. */
  readonly onUnavailable: (reason: string) => void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** No replica set; no rights; not known. */
const UNAVAILABLE = new Set([40573, 13, 59, 115]);
/** The point to resume from is gone, or cannot be resumed from. */
const LOST_POINT = new Set([136, 222, 260, 280, 286]);

export class ChangeLoop {
  readonly #options: ChangeLoopOptions;
  readonly #done: Promise<void>;
  #stream: ChangeStream<Document, Document> | undefined;
  #stopped = false;
  #wakeUp: () => void = () => undefined;

  constructor(options: ChangeLoopOptions) {
    this.#options = options;
    this.#done = this.#run();
  }

  /** Resolves when the stream is closed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakeUp();
    await this.#stream?.close().catch(() => undefined);
    await this.#done;
  }

  async #run(): Promise<void> {
    let resumeAfter: ResumeToken | undefined;
    let waitMs = FIRST_WAIT_MS;
    while (!this.#stopped) {
      try {
        const stream = this.#options.open(resumeAfter);
        this.#stream = stream;
        await this.#follow(stream, () => {
          waitMs = FIRST_WAIT_MS;
        });
        resumeAfter = undefined;
      } catch (error) {
        if (this.#stopped) break;
        const code = isMongo(error, "MongoServerError") ? Number(error.code) : undefined;
        const { message, details } = busError(error, "none");
        // MongoDB Atlas says by the same number that a right is missing and much else.
        const isRefused = details?.right !== undefined;
        if (isRefused || (code !== undefined && UNAVAILABLE.has(code)))
          return this.#options.onUnavailable(message);
        resumeAfter = code !== undefined && LOST_POINT.has(code) ? undefined : this.#stream?.resumeToken;
      }
      await this.#stream?.close().catch(() => undefined);
      if (!this.#stopped) await this.#wait(waitMs);
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
    }
  }

  /** Until the server ends the stream. One that was ended gives nothing any more, at once and for ever. */
  async #follow(stream: ChangeStream<Document, Document>, onProgress: () => void): Promise<void> {
    stream.once("resumeTokenChanged", () => {
      onProgress();
      this.#options.onGap();
    });
    while (!this.#stopped && (await stream.hasNext())) {
      const change = await stream.tryNext();
      if (change !== null) this.#options.onChange(change);
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
