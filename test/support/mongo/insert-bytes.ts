/** Inserts a document as these bytes, past the driver: others write what ours would not. */
import { once } from "node:events";
import { connect } from "node:net";
import { BSON, type Db } from "mongodb";

const OP_MSG = 2013;
const HEAD_BYTES = 20;
const BODY = 0;
const LIST = 1;

export async function insertBytes(db: Db, collection: string, document: Uint8Array): Promise<void> {
  const [host, port] = String((await db.admin().command({ hello: 1 })).primary).split(":");
  const body = BSON.serialize({ insert: collection, $db: db.databaseName, writeConcern: { w: "majority" } });
  const name = Buffer.from("documents\0");
  const listBytes = Buffer.alloc(4);
  listBytes.writeInt32LE(4 + name.length + document.length);
  const sections = [Buffer.of(BODY), body, Buffer.of(LIST), listBytes, name, document];
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeInt32LE(Buffer.concat([head, ...sections]).length, 0);
  head.writeInt32LE(OP_MSG, 12);
  const socket = connect(Number(port), host);
  try {
    socket.write(Buffer.concat([head, ...sections]));
    const [reply] = (await once(socket, "data")) as [Buffer];
    const { n } = BSON.deserialize(reply.subarray(HEAD_BYTES + 1));
    if (n !== 1) throw new Error("the server did not take the document");
  } finally {
    socket.destroy();
  }
}
