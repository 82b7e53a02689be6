/** P12: each change of the collection is told once, in order for each document, and the last one tells how it ended. */
import type { Collection, Db } from "mongodb";
import { pause, systemClock } from "../../../../src/model/clock.js";
import { seededRandom } from "../../../../src/model/manual-clock.js";
import type { Handle } from "../../../../src/model/task.js";
import type { ChangefeedStats, CollectionChange } from "../../../../src/mongo.js";
import type { OpenedPlace } from "./place.js";
import { differs, type Role } from "./role.js";

const topic = "watched.changed";
const DOCUMENTS = 15;
const BURST = 80;

interface Watched {
  readonly _id: number;
  readonly n: number;
}

export const changefeedRole: Role = {
  needsMongo: true,
  async prepare(place) {
    const { bus } = place;
    await bus.defineTopic({ name: topic, partitions: 3 });
    // What happens before its first start is not told change by change.
    const first = await startFeed(place);
    while (first.stats().phase !== "following") await pause(systemClock, 20);
    await first.stop();
    const watched = collectionOf(place);
    const present = new Map<number, number>();
    const done = new Map<string, string[]>();
    let changes = 0;
    const told = async (): Promise<Map<string, CollectionChange[]>> => {
      const byKey = new Map<string, CollectionChange[]>();
      for await (const { payload } of bus.read<CollectionChange>(topic)) {
        byKey.set(payload.id, [...(byKey.get(payload.id) ?? []), payload]);
      }
      return byKey;
    };
    return {
      burst: async (seed) => {
        const random = seededRandom(seed);
        for (let i = 0; i < BURST; i++) {
          const _id = Math.floor(random() * DOCUMENTS);
          const op = await change(watched, _id, ++changes, present, random());
          done.set(String(_id), [...(done.get(String(_id)) ?? []), op]);
        }
      },
      finished: async () => {
        const counts = [...(await told()).values()].map(({ length }) => length);
        return counts.reduce((sum, n) => sum + n, 0) >= changes;
      },
      anomalies: async () => {
        const found = await told();
        return [...done].flatMap(([id, ops]) => {
          const changes = found.get(id) ?? [];
          const last = changes.at(-1)?.document?.n ?? null;
          const what = `document ${id} (${changes.length} changes told of ${ops.length})`;
          return [
            ...differs(
              `${what}, in order`,
              changes.map(({ op }) => op),
              ops,
            ),
            ...differs(`${what}, in the end`, last, present.get(Number(id)) ?? null),
          ];
        });
      },
    };
  },
  async work(place) {
    const feed = await startFeed(place);
    return { done: () => feed.stats().published, stop: feed.stop };
  },
};

/** The driver of MongoDB is loaded here and not above, since other roles on a file do without. */
async function startFeed({ foreign, bus }: OpenedPlace): Promise<Handle<ChangefeedStats>> {
  const { startMongoChangefeed } = await import("../../../../src/mongo.js");
  const options = { collection: "watched", batchSize: 25, takeOverMs: 400 };
  return startMongoChangefeed(foreign as Db, bus, options);
}

function collectionOf({ foreign }: OpenedPlace): Collection<Watched> {
  return (foreign as Db).collection<Watched>("watched");
}

async function change(
  watched: Collection<Watched>,
  _id: number,
  n: number,
  present: Map<number, number>,
  dice: number,
): Promise<string> {
  if (!present.has(_id)) {
    present.set(_id, n);
    await watched.insertOne({ _id, n });
    return "insert";
  }
  if (dice < 0.2) {
    present.delete(_id);
    await watched.deleteOne({ _id });
    return "delete";
  }
  present.set(_id, n);
  if (dice < 0.5) {
    await watched.replaceOne({ _id }, { n });
    return "replace";
  }
  await watched.updateOne({ _id }, { $set: { n } });
  return "update";
}
