/** A database of one test as programs are told of it: an address. */
import { dropDatabase, newDatabaseName, sharedServerUrl } from "./shared-server.js";

export interface DatabaseAddress {
  readonly url: string;
  drop(): Promise<void>;
}

export async function newDatabaseAddress(): Promise<DatabaseAddress> {
  const server = await sharedServerUrl();
  const [, hosts = server, query = ""] = /^([a-z+]+:\/\/[^/?]+)\/?[^?]*(\?.*)?$/i.exec(server) ?? [];
  const name = newDatabaseName();
  return { url: `${hosts}/${name}${query}`, drop: () => dropDatabase(server, name) };
}
