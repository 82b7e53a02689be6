/** Named moments between a bus and its store at which a process ends itself, as a kill -9 from outside would. */
import { nextTurn } from "../../../src/model/next-turn.js";
import { deadLetterTopic } from "../../../src/model/topic.js";
import type { Store } from "../../../src/ports/store.js";
import { type CallName, interceptStore, type StoreCall } from "../../../src/testing/store-calls.js";
import { TOPIC } from "./names.js";

interface Point {
  readonly call: CallName;
  /** Asked for but not begun; begun and left alone; done, and nobody has heard of it. */
  readonly moment: "before" | "during" | "after";
  /** Absent: every such call counts. */
  readonly about?: (call: StoreCall) => boolean;
  /** It comes to pass only when another member joins. */
  readonly whenJoined?: boolean;
}

const APPENDS = {
  "before an append": { call: "log.append", moment: "before" },
  "during an append": { call: "log.append", moment: "during" },
  "after an append, before its answer": { call: "log.append", moment: "after" },
} as const satisfies Record<string, Point>;

/** Where the layout of the log is met; for the other points "batches" is "mongo" once more. */
const LAYOUT = {
  ...APPENDS,
  "between a dead letter and its cursor": { call: "log.append", moment: "after", about: isDeadLetter },
} as const satisfies Record<string, Point>;

/** Of a process that publishes, consumes and projects. */
const BUS = {
  ...LAYOUT,
  "before a cursor is stored": { call: "groups.commit", moment: "before" },
  "after a cursor is stored, before the answer": { call: "groups.commit", moment: "after" },
  "before a transaction": { call: "documents.transact", moment: "before" },
  "during a transaction": { call: "documents.transact", moment: "during" },
  "after a transaction, before its answer": { call: "documents.transact", moment: "after" },
  "between a grant and its answer": { call: "groups.claim", moment: "after" },
  "before a partition is given back": { call: "groups.release", moment: "before", whenJoined: true },
  "between a release and its answer": { call: "groups.release", moment: "after", whenJoined: true },
} as const satisfies Record<string, Point>;

const COMPACTOR = {
  "before superseded events are removed": { call: "log.remove", moment: "before" },
  "while superseded events are removed": { call: "log.remove", moment: "during" },
  "after superseded events are removed": { call: "log.remove", moment: "after" },
  "after a part of a snapshot": { call: "log.append", moment: "after" },
} as const satisfies Record<string, Point>;

const DRAINER = {
  "between a claim of entries and its answer": { call: "outbox.claimBatch", moment: "after" },
  "between publishing entries and saying so": { call: "outbox.markSent", moment: "before" },
  "after entries are marked as sent": { call: "outbox.markSent", moment: "after" },
} as const satisfies Record<string, Point>;

const CHANGEFEED = {
  ...APPENDS,
  "between changes and the place they came from": { call: "registry.putToken", moment: "before" },
} as const satisfies Record<string, Point>;

const REMOVER = {
  "before events of a topic are taken away": { call: "log.trim", moment: "before" },
  "while events of a topic are taken away": { call: "log.trim", moment: "during" },
  "between a topic's events and its groups": { call: "groups.remove", moment: "before" },
  "between a topic's groups and itself": { call: "registry.removeTopic", moment: "before" },
  "while a topic is removed": { call: "registry.removeTopic", moment: "during" },
  "after a topic is removed, before the answer": { call: "registry.removeTopic", moment: "after" },
} as const satisfies Record<string, Point>;

const POINTS: Readonly<Record<string, Point>> = {
  ...BUS,
  ...COMPACTOR,
  ...DRAINER,
  ...CHANGEFEED,
  ...REMOVER,
};

/** Where each kind of process is made to die. */
export const POINTS_OF = {
  bus: Object.keys(BUS),
  layout: Object.keys(LAYOUT),
  compactor: Object.keys(COMPACTOR),
  drainer: Object.keys(DRAINER),
  changefeed: Object.keys(CHANGEFEED),
  remover: Object.keys(REMOVER),
} as const;

export interface Death {
  /** A name of POINTS_OF. */
  readonly at: string;
  /** It is the so-manyth time that counts. */
  readonly nth: number;
}

export function pointOf(name: string): Point {
  const point = POINTS[name];
  if (point === undefined) throw new Error(`there is no point called "${name}"`);
  return point;
}

/** The same store, in the hands of a process that will die there. */
export function dyingAt(store: Store, { at, nth }: Death): Store {
  const point = pointOf(at);
  let left = nth;
  return interceptStore(store, {
    around: async (call, proceed) => {
      const counts = call.name === point.call && (point.about?.(call) ?? true);
      if (!counts || --left !== 0) return proceed();
      if (point.moment === "before") return die();
      const answer = proceed();
      if (point.moment === "during") await nextTurn();
      else await answer;
      return die();
    },
  });
}

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => undefined);
}

function isDeadLetter(call: StoreCall): boolean {
  return call.name === "log.append" && call.args[0] === deadLetterTopic(TOPIC);
}
