/**
 * Makes commands fail inside the server. A server has one such failpoint, whoever sets it, so on the server that test files
 * share they take turns: a document stands for the turn, and is taken over from a file that died with it.
 */
import type { Document, MongoClient } from "mongodb";
import { isDuplicateKey } from "../../../src/stores/mongo/connection/errors.js";

const TURN = "failCommand";
const TURN_MS = 60_000;

export class FailPoint {
  readonly #client: () => MongoClient;
  #mine = false;

  /** `client` is asked for when needed: tests make theirs late. */
  constructor(client: () => MongoClient) {
    this.#client = client;
  }

  /** The next `times` commands that fit `data` fail as it says. */
  async set(times: number, data: Document): Promise<void> {
    while (!this.#mine) {
      this.#mine = await this.#takeTurn();
      if (!this.#mine) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await this.#configure({ mode: { times }, data });
  }

  /** For after each test, whether it set anything or not. */
  async release(): Promise<void> {
    if (!this.#mine) return;
    await this.#configure({ mode: "off" });
    await this.#turns.deleteOne({ _id: TURN });
    this.#mine = false;
  }

  get #turns() {
    return this.#client().db("promethean_turns").collection<{ _id: string; until: Date }>("turns");
  }

  async #takeTurn(): Promise<boolean> {
    const until = new Date(Date.now() + TURN_MS);
    try {
      const { matchedCount, upsertedCount } = await this.#turns.updateOne(
        { _id: TURN, until: { $lt: new Date() } },
        { $set: { until } },
        { upsert: true },
      );
      return matchedCount + upsertedCount === 1;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async #configure(how: Document): Promise<void> {
    await this.#client()
      .db("admin")
      .command({ configureFailPoint: "failCommand", ...how });
  }
}
