/** The server that all tests of a run share, and databases of their own on it. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { MongoClient } from "mongodb";
import { inject } from "vitest";

/** Address of a replica set that runs: PROMETHEAN_TEST_MONGO_URL, or the one of this run, started now if need be. */
export async function sharedServerUrl(): Promise<string> {
  const given = process.env.PROMETHEAN_TEST_MONGO_URL;
  if (given) return given;
  const socket = connect(inject("mongoDoor"), "127.0.0.1");
  await once(socket, "connect");
  const answer = JSON.parse(await text(socket)) as { url?: string; error?: string };
  if (answer.url === undefined) throw new Error(answer.error ?? "no MongoDB server could be started");
  return answer.url;
}

/** A database name that no other test uses. */
export function newDatabaseName(): string {
  return `test_${randomBytes(6).toString("hex")}`;
}

export async function dropDatabase(url: string, db: string): Promise<void> {
  const client = new MongoClient(url);
  try {
    await client.db(db).dropDatabase();
  } finally {
    await client.close();
  }
}
