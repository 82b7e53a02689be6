/**
 * What a server says when its user lacks a right, as a sentence that names the right and the place.
 *
 * A server repeats the whole command that it refused, and with it what is in the events. So nothing of its text is passed on
 * but the name of the command, or of the action, and the collection.
 */
export interface MissingRight {
  /** As `createRole` calls it: "insert", "changeStream" … */
  readonly right: string;
  /** The database, and the collection if it is about one: "shop", "shop.events". */
  readonly on: string;
  /** For people: what is missing, and what to do about it. */
  readonly advice: string;
}

/** Commands that are not called like the action they need. */
const RIGHT_OF: Readonly<Record<string, string>> = {
  aggregate: "find",
  createIndexes: "createIndex",
  delete: "remove",
  drop: "dropCollection",
  findAndModify: "find, insert, update, remove",
  getMore: "find",
  killSessions: "killAnySession",
  update: "update, insert",
};

/** `{ aggregate: 1, …` is about the database as a whole. */
const REFUSED_COMMAND = /not authorized on (\S+) to execute command \{ (\w+): (?:"([^"]+)")?/;
/** As MongoDB Atlas words it. */
const REFUSED_ACTION = /user is not allowed to do action \[(\w+)\] on \[([^\].]+)([^\]]*)\]/;

/** The right that `message` tells of, or undefined if it does not say which. */
export function missingRight(message: string): MissingRight | undefined {
  const [, action, owner, rest = ""] = REFUSED_ACTION.exec(message) ?? [];
  if (action !== undefined && owner !== undefined) return described(action, owner, owner + rest);
  const [, db, command, collection] = REFUSED_COMMAND.exec(message) ?? [];
  if (db === undefined || command === undefined) return undefined;
  const isStream = command === "aggregate" && message.includes("$changeStream");
  const right = isStream ? "changeStream" : (RIGHT_OF[command] ?? command);
  return described(right, db, collection === undefined ? db : `${db}.${collection}`);
}

function described(right: string, db: string, on: string): MissingRight {
  const cure = db === "admin" ? `${right} on the cluster` : `the role readWrite on the database "${db}"`;
  return { right, on, advice: `the MongoDB user lacks a right (${right} on ${on}): give it ${cure}` };
}
