/**
 * Keeps a projector attached to the build of its views that counts: to the present one when it starts, and to others as
 * they come to count. Each build has a group, and so a position, of its own.
 */
import { type Clock, pause } from "../../model/clock.js";
import type { Stop } from "../../model/event-bus.js";

/** How soon a projector notices that its view was rebuilt. */
const FOLLOW_MS = 500;

export interface Following {
  readonly clock: Clock;
  /** The name of the build that counts now. */
  current(): Promise<string>;
  /** Null if it is not to be attached after all. The signal aborts when the projector is stopped meanwhile. */
  attach(build: string, signal: AbortSignal): Promise<Stop | null>;
  /** Something to do now and then besides. */
  round(): Promise<void>;
}

export class BuildFollower {
  readonly #following: Following;
  readonly #over = new AbortController();
  #looking: Promise<void> = Promise.resolve();
  #build: string | undefined;
  #detach: Stop = () => Promise.resolve();

  private constructor(following: Following) {
    this.#following = following;
  }

  static async start(following: Following): Promise<BuildFollower> {
    const follower = new BuildFollower(following);
    await follower.#attach();
    follower.#looking = follower.#look();
    return follower;
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#looking;
    await this.#detach();
  }

  async #look(): Promise<void> {
    while (!this.#over.signal.aborted) {
      await pause(this.#following.clock, FOLLOW_MS, this.#over.signal);
      try {
        if (this.#over.signal.aborted) return;
        await this.#attach();
        await this.#following.round();
      } catch {
        // The store is away, and so is every subscription: the next look will tell.
      }
    }
  }

  async #attach(): Promise<void> {
    const current = await this.#following.current();
    if (current === this.#build) return;
    await this.#detach();
    this.#detach = () => Promise.resolve();
    // If it cannot be attached now, it is attached to none, and not still to the one before.
    this.#build = undefined;
    const detach = await this.#following.attach(current, this.#over.signal);
    if (detach === null) return;
    this.#detach = detach;
    this.#build = current;
  }
}
