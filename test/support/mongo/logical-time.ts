/** Lets time pass for a server without waiting: its logical time moves on to what a client has heard of. */
import { Binary, Long, type MongoClient, Timestamp } from "mongodb";

/** Writes into `database`, so that the new time is that of a write. */
export async function passTime(client: MongoClient, database: string, seconds: number): Promise<void> {
  await client.withSession(async (session) => {
    const times = client.db(database).collection("passed_time");
    await times.insertOne({}, { session });
    const { t } = session.operationTime as Timestamp;
    session.advanceClusterTime({
      clusterTime: new Timestamp({ t: t + seconds, i: 1 }),
      signature: { hash: new Binary(Buffer.alloc(20)), keyId: Long.fromNumber(0) },
    });
    await times.insertOne({}, { session, writeConcern: { w: "majority" } });
  });
}
