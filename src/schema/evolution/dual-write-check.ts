/** Before a cutover: whether every event of a topic stands in `<topic>.vN` as well, and says there what it should. */
import type { StoredEvent } from "../../model/event.js";
import { canonicalText } from "../../model/json.js";
import { nextTurn } from "../../model/next-turn.js";
import { topicName } from "../../model/topic.js";
import type { Log } from "../../ports/log.js";
import type { Store } from "../../ports/store.js";
import { versionedTopic } from "../registry/versioned-topic.js";
import { checkDualWrite, type DualWriteOptions, secondWrite } from "./dual-write.js";
import { headsOf, newestEvents } from "./newest-events.js";
import { SecondTopic } from "./second-topic.js";

/** Which dual write to verify, and how much of it. */
export interface DualWriteCheckOptions
  extends Pick<DualWriteOptions, "topic" | "to" | "schemas" | "upcasts"> {
  /** Looks at the newest events only, this many. Default: at all. */
  readonly newest?: number;
}

/** An event whose second form is missing or differs, by its place. */
export interface UnmatchedEvent {
  readonly id: string;
  readonly partition: number;
  readonly seq: number;
}

/** What verifyDualWrite found. */
export interface DualWriteCheck {
  readonly checked: number;
  /** Events without a second form, in a compacted topic less those that a newer one of their key took the place of; the first 100. */
  readonly missing: readonly UnmatchedEvent[];
  /** Events whose second form says something else; the first 100. */
  readonly differing: readonly UnmatchedEvent[];
  readonly complete: boolean;
}

const PAGE = 200;
const MAX_TOLD = 100;

/**
 * Looks whether every event of a topic has its second form in `<topic>.vN`, and the right one.
 *
 * @example
 * const { complete, missing } = await verifyDualWrite(bus, { topic: "orders.placed", to: 2, schemas, upcasts });
 */
export async function verifyDualWrite(
  { store }: { readonly store: Pick<Store, "log" | "registry"> },
  options: DualWriteCheckOptions,
): Promise<DualWriteCheck> {
  checkDualWrite("verifyDualWrite", options, ["newest"]);
  const second = new SecondTopic(store, versionedTopic(options.topic, options.to));
  const missing: UnmatchedEvent[] = [];
  const differing: UnmatchedEvent[] = [];
  let checked = 0;
  for await (const page of pagesOf(store.log, options)) {
    const events = page.filter(SecondTopic.owed);
    const forms = await second.formsOf(events);
    checked += events.length;
    for (const event of await second.missing(events.filter((_, i) => forms[i] === null)))
      tell(missing, event);
    for (const [i, event] of events.entries()) {
      const form = forms[i] ?? null;
      if (form !== null && !isSecondOf(event, form, options)) tell(differing, event);
    }
  }
  return { checked, missing, differing, complete: missing.length + differing.length === 0 };
}

function tell(told: UnmatchedEvent[], { id, partition, seq }: StoredEvent): void {
  if (told.length < MAX_TOLD) told.push({ id, partition, seq });
}

async function* pagesOf(
  log: Log,
  { topic, newest }: DualWriteCheckOptions,
): AsyncGenerator<readonly StoredEvent[]> {
  const name = topicName(topic);
  if (newest !== undefined) {
    const events = await newestEvents(log, name, newest);
    for (let at = 0; at < events.length; at += PAGE) yield events.slice(at, at + PAGE);
    return;
  }
  for (const { partition, head } of await headsOf(log, name)) {
    for (let after = 0; after < head; ) {
      const { events, through } = await log.read(name, partition, { after, limit: PAGE });
      yield events.filter(({ seq }) => seq <= head);
      after = through;
      await nextTurn();
    }
  }
}

/** An event that cannot be brought to the version has no second form that could be right. */
function isSecondOf(event: StoredEvent, second: StoredEvent, options: DualWriteCheckOptions): boolean {
  try {
    const { payload } = secondWrite(event.record, options);
    return second.key === event.key && canonicalText(second.body.value) === canonicalText(payload);
  } catch {
    return false;
  }
}
