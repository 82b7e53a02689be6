/**
 * The sessions in which this process runs its transactions, and how those of a dead one are ended.
 *
 * A process that dies in the middle of a transaction leaves it open: the server ends it by itself after a minute or more,
 * and until then nobody else can write what it wrote, be it the cursor it held or the next place of a partition. So a
 * session is named in the documents of the members it works for before it is used, and whoever takes a partition over from a
 * member that is no longer alive has the server end that member's sessions first.
 *
 * To a server a session is an id and a user. An id alone means a session of one's own user, and to end one that does not exist
 * is no error; so the members' documents name the user, too. Sessions of another one take the right killAnySession.
 */
import { createHash } from "node:crypto";
import { Binary, type ClientSession, type Collection, type MongoClient } from "mongodb";
import type { MemberDocument } from "../collections.js";
import { busError, isOutsideApi } from "./errors.js";

/** Sessions that a member's document names; those of earlier failures are forgotten. */
const MAX_NAMED = 256;

interface OwnSession {
  readonly session: ClientSession;
  /** How many members there had been when it was named. */
  readonly since: number;
}

export class OwnSessions {
  readonly #client: MongoClient;
  readonly #documents: Collection<MemberDocument>;
  readonly #warn: (message: string) => void;
  readonly #members = new Set<string>();
  #membersSeen = 0;
  #free: OwnSession[] = [];
  /** Empty where the server knows no users. */
  #user: string | undefined;
  #hasWarned = false;

  constructor(client: MongoClient, documents: Collection<MemberDocument>, warn: (message: string) => void) {
    this.#client = client;
    this.#documents = documents;
    this.#warn = warn;
  }

  /** Somebody would end them. */
  get areNamed(): boolean {
    return this.#members.size > 0;
  }

  /** A member works here from now on; its document exists. Sessions that it does not name are not used again. */
  async heldBy(member: string): Promise<void> {
    if (this.#members.has(member)) return;
    this.#members.add(member);
    this.#membersSeen++;
    await this.end();
  }

  leftBy(member: string): void {
    this.#members.delete(member);
  }

  async with<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
    const own = this.#free.pop() ?? (await this.#start());
    try {
      const result = await work(own.session);
      if (own.since === this.#membersSeen) this.#free.push(own);
      else await own.session.endSession();
      return result;
    } catch (error) {
      await own.session.endSession();
      throw error;
    }
  }

  async #start(): Promise<OwnSession> {
    const session = this.#client.startSession();
    const own = { session, since: this.#membersSeen };
    if (this.#members.size === 0) return own;
    try {
      const user = await this.#whoAmI();
      await this.#documents.updateMany(
        { _id: { $in: [...this.#members] } },
        {
          $push: { sessions: { $each: [session.id?.id as Binary], $slice: -MAX_NAMED } },
          ...(user !== "" && { $set: { user } }),
        },
      );
      return own;
    } catch (error) {
      await session.endSession();
      throw error;
    }
  }

  /** Transactions of a member that is no longer alive are undone, unless they are committed. */
  async endThoseOf(member: string): Promise<void> {
    const found = await this.#documents.findOne({ _id: member }, { projection: { sessions: 1, user: 1 } });
    const { sessions = [], user = "" } = found ?? {};
    if (sessions.length === 0) return;
    const isForeign = user !== "" && user !== (await this.#whoAmI());
    const owner = isForeign && { uid: digestOf(user) };
    try {
      await this.#client.db("admin").command({ killSessions: sessions.map((id) => ({ id, ...owner })) });
    } catch (error) {
      if (this.#hasWarned) return;
      this.#hasWarned = true;
      const { retryable, message } = busError(error, "none");
      this.#warn(
        "MongoDB did not end the transactions of a process that is gone, which may hold up what it worked on " +
          `for a minute or more: ${isForeign && !retryable ? this.#foreign(user) : message}`,
      );
    }
  }

  #foreign(user: string): string {
    return (
      `it worked as the user ${user}, and this one works as ${this.#user || "nobody"}. ` +
      "Let all processes use one user, or give their users killAnySession on the cluster"
    );
  }

  async #whoAmI(): Promise<string> {
    if (this.#user === undefined) {
      const mine = await this.#signedIn();
      this.#user = mine === undefined ? "" : `${mine.user}@${mine.db}`;
    }
    return this.#user;
  }

  /** Nobody, where the client is held to a version of the server's interface that does not tell, nor ends sessions. */
  async #signedIn(): Promise<{ user: string; db: string } | undefined> {
    try {
      const { authInfo } = await this.#client.db("admin").command({ connectionStatus: 1 });
      return authInfo.authenticatedUsers[0];
    } catch (error) {
      if (isOutsideApi(error)) return undefined;
      throw error;
    }
  }

  /** Ends those that are not in use. */
  async end(): Promise<void> {
    const free = this.#free;
    this.#free = [];
    for (const { session } of free) await session.endSession();
  }
}

/** How a server writes the user of a session. */
function digestOf(user: string): Binary {
  return new Binary(createHash("sha256").update(user).digest());
}
