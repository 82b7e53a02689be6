/** How the server finds what it is asked for, by its own account. */
import type { Document } from "mongodb";
import type { TestDatabase } from "./database.js";

export interface Plan {
  readonly collection: string;
  readonly plan: string;
  /** Documents that were looked at. */
  readonly examined: number;
  /** Entries of indexes that were looked at. */
  readonly keys: number;
}

/** Of all that `work` asks of the database. */
export async function plansOf({ db, name }: TestDatabase, work: () => Promise<unknown>): Promise<Plan[]> {
  await db.command({ profile: 2 });
  await work();
  await db.command({ profile: 0 });
  const profile = db.collection("system.profile");
  const asked = await profile.find<Document>({ planSummary: { $exists: true } }).toArray();
  await profile.drop();
  return asked.map(({ ns, planSummary, docsExamined, keysExamined }) => ({
    collection: ns.slice(name.length + 1),
    plan: planSummary,
    examined: docsExamined ?? 0,
    keys: keysExamined ?? 0,
  }));
}
